// Hermes memory in pi, which knows no MCP: its tools are those of the server that `hermes-memory.json` above this folder names.
import { readFileSync } from "node:fs"

const TOOLS_MS = 3000 // the server answers its lists at once; without them pi starts all the same

function openServer({ command, args = [], env = {} }) {
  const options = { stdio: ["pipe", "pipe", "ignore"], windowsHide: true, env: { ...process.env, ...env } }
  const child = spawn(command, args, options)
  const waiting = new Map()
  let rest = ""
  const fail = () => {
    for (const resolve of waiting.values()) resolve({ error: { message: "the memory's server has ended" } })
    waiting.clear()
    server.isOpen = false
  }
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
  const server = {
    isOpen: true,
    send,
    close: () => child.stdin.end(),
    request: (method, params) =>
      new Promise((resolve) => {
        if (!server.isOpen) return resolve({ error: { message: "the memory's server has ended" } })
        const id = server.count++
        waiting.set(id, resolve)
        send({ id, method, params })
      }),
    count: 1,
  }
  child.on("error", fail)
  child.on("close", fail)
  child.stdin.on("error", () => {})
  child.stdout.setEncoding("utf8")
  child.stdout.on("data", (some) => {
    const lines = (rest + some).split("\n")
    rest = lines.pop()
    for (const line of lines) {
      const answer = JSON.parse(line)
      if (answer.method) continue // notices of changes
      waiting.get(answer.id)?.(answer)
      waiting.delete(answer.id)
    }
  })
  return server
}

function joinParts(content) {
  if (typeof content === "string") return content.slice(0, MAX_CHARS)
  const texts = (content ?? []).filter((part) => part.type === "text").map((part) => part.text)
  return texts.join("\n").slice(0, MAX_CHARS)
}

export default async function (pi) {
  let server
  let system = "" // stands in the system prompt of each turn, and in no history, so it must be what holds now
  let source = "startup"

  async function connect() {
    server = openServer(JSON.parse(readFileSync(new URL("../hermes-memory.json", import.meta.url), "utf8")).mcpServers["hermes-memory"])
    const clientInfo = { name: "pi", version: "1" }
    await server.request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo })
    server.send({ method: "notifications/initialized" })
    return (await server.request("tools/list", {})).result?.tools ?? []
  }

  const late = new Promise((resolve) => setTimeout(resolve, TOOLS_MS, []).unref())
  for (const { name, description, inputSchema } of (await Promise.race([attempt(connect), late])) ?? [])
    pi.registerTool({
      name,
      label: name,
      description,
      parameters: inputSchema,
      async execute(_id, params) {
        if (!server.isOpen) await attempt(connect)
        const { result, error } = await server.request("tools/call", { name, arguments: params })
        if (error || result.isError) throw new Error(error?.message ?? joinParts(result.content))
        return { content: result.content, details: {} }
      },
    })

  const describe = (ctx, more) => ({
    session: ctx.sessionManager.getSessionId(),
    agent: "",
    folder: ctx.cwd,
    version: "",
    ...more,
  })

  pi.on("before_agent_start", ({ prompt, systemPrompt }, ctx) =>
    attempt(async () => {
      const changed = system && (await report("start", describe(ctx, { source: "resume" }), START_MS))
      if (changed) system = "" // what no longer holds goes, even if nothing comes in its place
      if (!system) system = await report("start", describe(ctx, { source }), START_MS)
      const touched = await report("prompt", describe(ctx, { text: prompt.slice(0, MAX_CHARS) }), PROMPT_MS)
      return {
        ...(system ? { systemPrompt: `${systemPrompt}\n\n${system}` } : {}),
        ...(touched ? { message: { customType: "hermes-memory", content: touched, display: false } } : {}),
      }
    }),
  )

  // pi has no question here: what a guard asks about is refused, with the reason.
  pi.on("tool_call", ({ toolName, input }, ctx) =>
    attempt(async () => {
      if (!GUARDED.includes(toolName)) return undefined
      const reason = await report("guard", describe(ctx, { tool_name: toolName, tool_input: input }), GUARD_MS)
      return reason ? { block: true, reason } : undefined
    }),
  )

  pi.on("tool_result", ({ toolName, toolCallId, input, content, isError }, ctx) =>
    attempt(async () => {
      const text = HEARS || isError ? joinParts(content) : ""
      const call = { tool_name: toolName, tool_input: input, call_id: toolCallId, failed: isError }
      const given = await report("tool", describe(ctx, { ...call, text }), TOOL_MS)
      return given ? { content: [...content, { type: "text", text: given }] } : undefined
    }),
  )

  pi.on("session_compact", ({ compactionEntry }, ctx) =>
    attempt(async () => {
      await report("compacted", describe(ctx, { text: CAPTURE ? (compactionEntry?.summary ?? "") : "" }), START_MS)
      system = ""
      source = "compact"
    }),
  )

  pi.on("agent_end", ({ messages }, ctx) =>
    attempt(async () => {
      const text = joinParts(messages.findLast((message) => message.role === "assistant")?.content)
      if (CAPTURE && text) await report("turn", describe(ctx, { text }), START_MS)
    }),
  )

  pi.on("session_shutdown", (_event, ctx) =>
    attempt(async () => {
      server?.close()
      await report("end", describe(ctx, { reason: "closed" }), START_MS)
    }),
  )
}
