// Hermes memory in opencode.

const MAX_SESSIONS = 200

// The id of a part that follows another at once: opencode orders parts by the number in their ids.
function nextPartId(id) {
  const found = /^prt_([0-9a-f]{12})(\w+)$/.exec(id ?? "")
  if (!found) return ""
  return `prt_${(BigInt(`0x${found[1]}`) + 1n).toString(16).padStart(12, "0")}${found[2]}`
}

function joinText(parts) {
  return parts
    .filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
    .map((part) => part.text)
    .join("\n")
    .slice(0, MAX_CHARS)
}

export const HermesMemory = async ({ client, directory }) => {
  const sessions = new Map()
  let shown = ""

  show = (message) => {
    if (message !== shown) attempt(() => client.tui.showToast({ body: { message, variant: "info" } }))
    shown = message
  }

  function openSession(id) {
    let session = sessions.get(id)
    if (!session) {
      session = {
        id,
        parent: undefined, // null once it is known to have none
        version: "",
        isAsked: false, // whether the hook program was asked for `system`
        system: "", // what stands in the system text of each request
        extra: [], // facts of prompts that could not be put beside the message itself
        compacted: false,
        summary: "", // "asked": the next request is the summariser's; "made": the request after it
        starting: null,
        messages: new Map(), // of the assistant, by id: whether one is a summary, and its text by part
        reported: new Set(),
        calls: new Map(), // the parts of tool calls, by their callID, which a later call may have again
      }
      sessions.set(id, session)
      if (sessions.size > MAX_SESSIONS) sessions.delete(sessions.keys().next().value)
    }
    return session
  }

  function noteInfo(session, info) {
    session.parent = info?.parentID ?? null
    session.version = info?.version ?? ""
  }

  // A session that was created before this plugin was loaded: ask opencode who its parent is.
  async function findSession(id) {
    const session = openSession(id)
    if (session.parent === undefined) {
      session.parent = null
      const late = new Promise((resolve) => setTimeout(resolve, 200))
      const answer = await Promise.race([attempt(() => client.session.get({ path: { id } })), late])
      if (answer?.data) noteInfo(session, answer.data)
    }
    return session
  }

  function describe(session, more) {
    const root = session.parent ?? session.id
    const agent = session.parent ? session.id : ""
    return { session: root, agent, folder: directory ?? "", version: session.version, ...more }
  }

  function start(session, source) {
    session.isAsked = true
    session.starting ??= report("start", describe(session, { source }), START_MS).then((text) => {
      if (text) {
        session.system = text
        session.extra = []
      }
      session.starting = null
      return text
    })
    return session.starting
  }

  async function startAfterSummary(session) {
    session.summary = ""
    session.compacted = true
    await start(session, "compact")
  }

  // The system text stands in every request, so it must be what holds now: when anything has changed, it is asked anew.
  async function refresh(session) {
    if (session.summary) return startAfterSummary(session)
    const source = session.compacted ? "compact" : "startup"
    if (!session.system) return start(session, source)
    const changed = await report("start", describe(session, { source: "resume" }), START_MS)
    if (!changed) return undefined
    session.system = "" // what no longer holds goes, even if nothing comes in its place
    session.extra = []
    return start(session, source)
  }

  function findMessage(session, id) {
    let message = session.messages.get(id)
    if (!message) {
      message = { summary: false, assistant: false, texts: new Map() }
      session.messages.set(id, message)
      if (session.messages.size > MAX_SESSIONS) session.messages.delete(session.messages.keys().next().value)
    }
    return message
  }

  function readText(message) {
    return [...message.texts.values()].filter(Boolean).join("\n").slice(0, MAX_CHARS)
  }

  // Reports the last words of the assistant, or of the summariser: once a message.
  function reportMessage(session, event, wanted) {
    const found = [...session.messages].reverse().find(([, message]) => message.assistant && wanted(message))
    const [id, message] = found ?? ["", null]
    if (session.reported.has(`${event} ${id}`)) return
    session.reported.add(`${event} ${id}`)
    const text = CAPTURE && message ? readText(message) : ""
    if (event === "turn" && !text) return
    void report(event, describe(session, { turn: id, text }), START_MS)
  }

  const events = {
    "session.created": ({ info }) => noteInfo(openSession(info.id), info),
    "session.deleted": ({ info }) => {
      const session = openSession(info.id)
      sessions.delete(info.id)
      if (!session.parent) void report("end", describe(session, { reason: "deleted" }), START_MS)
    },
    "message.updated": ({ info }) => {
      if (info.role !== "assistant") return
      const message = findMessage(openSession(info.sessionID), info.id)
      message.assistant = true
      message.summary = info.summary === true
    },
    "message.part.updated": ({ part }) => {
      if (HEARS && part.type === "tool") openSession(part.sessionID).calls.set(part.callID, part.id)
      if (part.type !== "text" || part.synthetic) return
      findMessage(openSession(part.sessionID), part.messageID).texts.set(part.id, part.text)
    },
    "session.idle": ({ sessionID }) => {
      const session = openSession(sessionID)
      if (CAPTURE && !session.parent) reportMessage(session, "turn", (message) => !message.summary && readText(message))
    },
    "session.compacted": ({ sessionID }) => {
      const session = openSession(sessionID)
      if (session.parent) return
      reportMessage(session, "compacted", (message) => message.summary)
      if (session.summary) session.summary = "made"
    },
  }

  return {
    event: ({ event }) => attempt(() => events[event.type]?.(event.properties)),

    "chat.message": (input, output) =>
      attempt(async () => {
        const session = await findSession(input.sessionID)
        const text = joinText(output.parts)
        if (session.parent || !text) return // what a subagent is told was written by the model
        const ask = () => report("prompt", describe(session, { turn: output.message?.id ?? "", text }), PROMPT_MS)
        const first = !session.system
        if (first) await refresh(session)
        const [touched] = await Promise.all([ask(), first ? undefined : refresh(session)])
        if (!touched) return
        const said = output.parts.findLast((part) => part.type === "text")
        const id = nextPartId(said?.id)
        if (id) output.parts.push({ id, sessionID: said.sessionID, messageID: said.messageID, type: "text", text: touched, synthetic: true })
        else session.extra.push(touched)
      }),

    "experimental.chat.system.transform": (input, output) =>
      attempt(async () => {
        if (!input.sessionID || /^You are a title generator/.test(output.system[0] ?? "")) return
        const asked = await findSession(input.sessionID)
        const session = asked.parent ? openSession(asked.parent) : asked
        if (session.summary === "asked" && !asked.parent) {
          session.summary = "made"
          return // what it repeated would stand beside what the next request is given
        }
        if (session.summary === "made" && !asked.parent) await startAfterSummary(session)
        else if (!session.isAsked || session.starting) await start(session, "startup")
        output.system.push(...[session.system, ...session.extra].filter(Boolean))
      }),

    // opencode has no question here: what a guard asks about is refused, with the reason.
    "tool.execute.before": async (input, output) => {
      if (!GUARDED.includes(input.tool)) return
      const refusal = await attempt(async () => {
        const session = await findSession(input.sessionID)
        return report("guard", describe(session, { tool_name: input.tool, tool_input: output.args }), GUARD_MS)
      })
      if (refusal) throw new Error(refusal)
    },

    "tool.execute.after": (input, output) =>
      attempt(async () => {
        if (!output) return
        const session = await findSession(input.sessionID)
        const exit = output.metadata?.exit
        const text = HEARS || exit ? String(output.output ?? "").slice(0, MAX_CHARS) : ""
        const { calls } = openSession(input.sessionID)
        const id = calls.get(input.callID) ?? input.callID
        calls.delete(input.callID)
        const call = { tool_name: input.tool, tool_input: input.args, call_id: id, exit }
        const given = await report("tool", describe(session, { ...call, text }), TOOL_MS)
        if (given && typeof output.output === "string") output.output += `\n\n${given}`
      }),

    "experimental.session.compacting": (input) =>
      attempt(async () => {
        const session = await findSession(input.sessionID)
        if (session.parent) return
        session.summary = "asked"
        await report("compacting", describe(session, {}), START_MS)
      }),
  }
}
