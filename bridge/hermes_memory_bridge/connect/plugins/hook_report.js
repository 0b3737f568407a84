// Written by `hermes-memory-bridge connect`; `connect --remove` removes it. Each event of the host is reported to the hook
// program, whose answer is what the model is to be given. Nothing here throws or waits longer than the times below: the host
// goes on as if this file were not there.
import { spawn } from "node:child_process"

const HOST = /*HOST*/ ""
const COMMAND = [/*COMMAND*/]
const CAPTURE = /*CAPTURE*/ false // whether what is said may be kept; the hook program asks again each time
const HEARS = /*HEARS*/ false // whether what tools return may be heard, or what they do kept, likewise
const GUARDED = /*GUARDED*/ [] // the tools before which guards are asked; none without a guard

const START_MS = 1300 // the hook program's own stop of 1 s, and the start of its interpreter
const PROMPT_MS = 450 // 150 ms likewise
const TOOL_MS = 1100 // 0.8 s likewise, of which most is for busy machines
const GUARD_MS = 2800 // 2.5 s likewise
const MAX_CHARS = 262144

let show = () => {} // shows its person a line, where the host can

// Runs the hook program; resolves to its text, or "" when it has none in time. It is never killed: it ends by itself,
// also after the host has ended.
function report(event, payload, patience) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(""), patience)
    const finish = (text) => {
      clearTimeout(timer)
      resolve(typeof text === "string" ? text : "")
    }
    try {
      const [program, ...args] = COMMAND
      const child = spawn(program, [HOST, event, ...args], {
        stdio: ["pipe", "pipe", "ignore"],
        detached: process.platform !== "win32",
        windowsHide: true,
        env: { ...process.env, PYTHONPATH: "" }, // an entry that is relative would import files of the workspace
      })
      let said = ""
      child.on("error", () => finish(""))
      child.stdin.on("error", () => {})
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (some) => {
        said += some
        if (said.length > MAX_CHARS) child.stdout.destroy() // no answer of ours is that long
      })
      child.on("close", () => {
        try {
          const { text, contextModification, notice } = JSON.parse(said)
          finish(text ?? contextModification)
          if (notice) show(notice)
        } catch {
          finish("")
        }
      })
      child.stdin.end(JSON.stringify(payload))
      child.unref()
    } catch {
      finish("")
    }
  })
}

// Runs a step of a hook. What fails in it is the memory's own loss, never the host's.
async function attempt(step) {
  try {
    return await step()
  } catch (error) {
    if (process.env.HERMES_MEMORY_HOOK_DEBUG) console.error("hermes-memory:", error)
    return undefined
  }
}

