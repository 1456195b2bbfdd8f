import { type Content, type GenerateContentParameters, GoogleGenAI, type Part } from '@google/genai';
import { PNG } from '../../provider/requests.ts';
import { type Client, type Job, runTool, type Seen, type SeenCall, SYSTEM, TOOL_SCHEMAS, taskOf } from './job.ts';

/** `@google/genai`. */
export const googleGenai: Client = { name: '@google/genai', api: 'gemini', converse };

const IMAGE: Part = { inlineData: { mimeType: 'image/png', data: PNG } };

async function converse(url: string, job: Job): Promise<Seen> {
  const client = new GoogleGenAI({ apiKey: 'test', httpOptions: { baseUrl: url } });
  const contents: Content[] = [{ role: 'user', parts: [{ text: taskOf(job) }, ...(job.hasImages ? [IMAGE] : [])] }];
  const seen = { texts: [] as string[], thoughts: [] as string[], calls: [] as SeenCall[] };
  for (;;) {
    const parts = await ask(client, contents, job);
    contents.push({ role: 'model', parts });
    const results: Part[] = [];
    for (const { text, thought, functionCall } of parts) {
      if (text) (thought ? seen.thoughts : seen.texts).push(text);
      if (!functionCall) continue;
      const { id = '', name = '', args } = functionCall;
      seen.calls.push({ id, name, input: args });
      const { text: output, isError } = runTool(name, args, job);
      results.push({ functionResponse: { id, name, response: isError ? { error: output } : { output } } });
    }
    if (results.length === 0) return seen;
    contents.push({ role: 'user', parts: results });
  }
}

async function ask(client: GoogleGenAI, contents: Content[], job: Job): Promise<Part[]> {
  const request: GenerateContentParameters = {
    model: job.model ?? 'gemini-3-pro',
    contents,
    config: {
      systemInstruction: SYSTEM,
      tools: [
        {
          functionDeclarations: TOOL_SCHEMAS.map(({ name, description, schema }) => ({
            name,
            description,
            parametersJsonSchema: schema,
          })),
        },
      ],
      ...(job.thinks ? { thinkingConfig: { includeThoughts: true } } : {}),
    },
  };
  if (!job.streams) return (await client.models.generateContent(request)).candidates?.[0]?.content?.parts ?? [];
  const parts: Part[] = [];
  for await (const chunk of await client.models.generateContentStream(request))
    for (const part of chunk.candidates?.[0]?.content?.parts ?? []) join(parts, part);
  return parts;
}

/** Pieces of one text become one part again; a signature stays where it came. */
function join(parts: Part[], part: Part): void {
  const last = parts.at(-1);
  const isPiece =
    last?.text !== undefined && part.text !== undefined && Boolean(last.thought) === Boolean(part.thought);
  if (isPiece) parts[parts.length - 1] = { ...last, ...part, text: `${last.text}${part.text}` };
  else parts.push(part);
}
