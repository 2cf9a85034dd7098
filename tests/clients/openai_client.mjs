// OpenAI's library for Node.
import { createRequire } from "node:module";

const { default: OpenAI } = createRequire(`${process.cwd()}/`)("openai");
const client = new OpenAI({ baseURL: process.env.CLIENT_URL, apiKey: process.env.CLIENT_KEY });
const model = "helper";
const [hello, call] = ["demo: say Good day", 'demo: tool weather {"city": "Oslo"}'];
const weather = {
  name: "weather",
  description: "Get the weather of a city.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const tools = [{ type: "function", function: weather }];
const schema = { type: "object", properties: { age: { type: "integer" } }, required: ["age"], additionalProperties: false };
const user = (content) => ({ role: "user", content });
const ask = (text, more = {}) => client.chat.completions.create({ model, messages: [user(text)], ...more });

function expect(found, wanted) {
  if (found !== wanted) throw new Error(`${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
}

const features = {
  chat: async () => expect((await ask(hello, { seed: 1, max_tokens: 50 })).choices[0].message.content, "Good day"),
  "chat, streamed": async () => {
    let text = "";
    for await (const chunk of await ask(hello, { stream: true })) text += chunk.choices[0].delta.content ?? "";
    expect(text, "Good day");
  },
  stop: async () => expect((await ask("demo: say one STOP two", { stop: ["STOP"] })).choices[0].message.content, "one"),
  tools: async () => {
    const run = { ...weather, parse: JSON.parse, function: () => "20 degrees" };
    const runner = client.chat.completions.runTools({
      model,
      messages: [user(call)],
      tools: [{ type: "function", function: run }],
    });
    expect(await runner.finalContent(), "weather: 20 degrees");
  },
  "JSON Schema": async () => {
    const format = { type: "json_schema", json_schema: { name: "person", schema, strict: true } };
    const answer = await ask('demo: say {"age": 10}', { response_format: format });
    expect(JSON.parse(answer.choices[0].message.content).age, 10);
  },
  "forced call": () => ask(call, { tools, tool_choice: "required" }),
  responses: async () => expect((await client.responses.create({ model, input: hello })).output_text, "Good day"),
  "responses, streamed": async () => {
    const stream = client.responses.stream({ model, input: hello });
    expect((await stream.finalResponse()).output_text, "Good day");
  },
  "responses, tools": async () => {
    const flat = [{ type: "function", ...weather, strict: false }];
    const first = await client.responses.create({ model, input: call, tools: flat });
    const { call_id } = first.output.find((item) => item.type === "function_call");
    const output = { type: "function_call_output", call_id, output: "20 degrees" };
    const next = { model, input: [output], previous_response_id: first.id, tools: flat };
    expect((await client.responses.create(next)).output_text, "weather: 20 degrees");
  },
};

for (const [name, attempt] of Object.entries(features)) {
  let result = "works";
  try {
    await attempt();
  } catch (error) {
    result = `${error.status === 400 ? "refused" : "failed"}: ${error.message}`;
  }
  console.log(JSON.stringify([name, result]));
}
