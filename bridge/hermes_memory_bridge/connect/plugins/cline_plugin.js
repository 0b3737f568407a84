// Hermes memory in Cline. Its files of hooks would not do: Cline 3 runs none of them at a prompt, and gives the model nothing
// of what they answer at a start.

const MAX_CONVERSATIONS = 100
const INPUT = /^\s*<user_input[^>]*>([\s\S]*)<\/user_input>\s*$/
const OURS = "hermes-memory"

const place = { session: "", folder: "", version: "" } // as Cline says at the setup
let setups = 0
const conversations = new Map()

function findConversation(id) {
  let found = conversations.get(id)
  if (!found) {
    // Where one process serves several sessions, only the conversation tells them apart.
    const session = setups === 1 && place.session ? place.session : id
    found = { session, hot: "", isAsked: false, compacted: false, last: [] } // `last`: ids of the messages of the last request
    conversations.set(id, found)
    if (conversations.size > MAX_CONVERSATIONS) conversations.delete(conversations.keys().next().value)
  }
  return found
}

function describe(conversation, more) {
  return { session: conversation.session, agent: "", folder: place.folder, version: place.version, ...more }
}

async function start(conversation) {
  const source = conversation.compacted ? "compact" : "startup"
  conversation.isAsked = true
  conversation.hot = (await report("start", describe(conversation, { source }), START_MS)) || conversation.hot
}

// The text goes into every request and into no history, so it must be what holds now.
async function refresh(conversation) {
  const changed = conversation.hot && (await report("start", describe(conversation, { source: "resume" }), START_MS))
  if (changed) conversation.hot = "" // what no longer holds goes, even if nothing comes in its place
  if (!conversation.hot) await start(conversation)
}

function readPrompt(messages) {
  const isSaid = (message) => message.role === "user" && message.metadata?.displayRole !== "system"
  const said = messages.findLast(isSaid)
  const text = (said?.content ?? [])
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("\n")
  return { turn: said?.id ?? "", text: (INPUT.exec(text)?.[1] ?? text).slice(0, MAX_CHARS) }
}

export default {
  name: OURS,
  manifest: { capabilities: ["hooks"] },

  setup(_api, context) {
    setups += 1
    place.session = context?.session?.sessionId ?? ""
    place.folder = context?.workspaceInfo?.rootPath ?? process.cwd()
    place.version = context?.client?.version ?? ""
  },

  hooks: {
    beforeRun: ({ snapshot }) =>
      attempt(async () => {
        if (snapshot.parentAgentId) return undefined // what a subagent is told was written by the model
        const conversation = findConversation(snapshot.conversationId ?? "")
        await refresh(conversation)
        const { turn, text } = readPrompt(snapshot.messages)
        if (!text) return undefined
        const touched = await report("prompt", describe(conversation, { turn, text }), PROMPT_MS)
        return touched ? { appendContext: touched } : undefined
      }),

    beforeModel: ({ snapshot, request }) =>
      attempt(async () => {
        if (snapshot.parentAgentId) return undefined
        const conversation = findConversation(snapshot.conversationId ?? "")
        const ids = request.messages.map((message) => message.id)
        const isCut = conversation.last.some((id) => !ids.includes(id)) // Cline tells no plugin of a compaction
        conversation.last = ids
        if (isCut) conversation.compacted = true
        if (isCut || !conversation.isAsked) await start(conversation)
        if (!conversation.hot) return undefined
        const message = { id: OURS, role: "user", createdAt: 0, content: [{ type: "text", text: conversation.hot }] }
        return { messages: [message, ...request.messages] }
      }),

    afterRun: ({ snapshot, result }) =>
      attempt(() => {
        const text = (result?.outputText ?? "").slice(0, MAX_CHARS)
        if (!CAPTURE || !text || snapshot?.parentAgentId) return
        const conversation = findConversation(snapshot?.conversationId ?? "")
        void report("turn", describe(conversation, { turn: result.runId ?? "", text }), START_MS)
      }),
  },
}
