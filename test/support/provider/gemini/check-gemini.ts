import type { IncomingHttpHeaders } from 'node:http';
import { asText, extraField, type Fields, fieldsOf, isFields, names } from '../json.ts';
import { Rejection } from '../rejection.ts';
import { isSignatureOf } from './signature.ts';

export function checkKey(headers: IncomingHttpHeaders, query: URLSearchParams): void {
  if (headers['x-goog-api-key'] || headers.authorization || query.get('key')) return;
  throw new Rejection(
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other " +
      'form of API consumer identity to call this API.',
    { status: 403 },
  );
}

const FIELDS = names(
  'contents systemInstruction tools toolConfig generationConfig safetySettings cachedContent labels model store serviceTier',
);
const PARTS = names(
  'text thought thoughtSignature inlineData fileData functionCall functionResponse executableCode codeExecutionResult ' +
    'videoMetadata mediaResolution partMetadata toolCall toolResponse',
);
const DATA = ['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'executableCode'];
const CALL = names('id name args partialArgs willContinue');
const RESPONSE = names('id name response parts willContinue scheduling');

/** Throws what the API would answer to a request that an edit on the way has broken. */
export function checkGemini(body: Fields, model: string, secret: string): void {
  checkFields(body, FIELDS, '');
  if (!Array.isArray(body.contents) || body.contents.length === 0)
    throw new Rejection('* GenerateContentRequest.contents: contents is not specified\n');
  const contents = body.contents as readonly Fields[];
  for (const [index, content] of contents.entries()) checkContent(content, index);
  checkTurns(contents);
  checkSignatures(contents, model, secret);
}

function checkFields(fields: Fields, allowed: ReadonlySet<string>, place: string): void {
  const extra = extraField(fields, allowed);
  if (extra === undefined) return;
  const at = place === '' ? '' : ` at '${place}'`;
  throw new Rejection(`Invalid JSON payload received. Unknown name "${extra}"${at}: Cannot find field.`);
}

function checkContent(content: Fields, index: number): void {
  checkFields(content, names('role parts'), `contents[${index}]`);
  const parts = fieldsOf(content.parts);
  if (parts.length === 0)
    throw new Rejection(`* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.\n`);
  for (const [i, part] of parts.entries()) checkPart(part, `contents[${index}].parts[${i}]`);
}

function checkPart(part: Fields, place: string): void {
  checkFields(part, PARTS, place);
  if (!DATA.some((key) => part[key] !== undefined))
    throw new Rejection(
      `* GenerateContentRequest.${place}.data: required oneof field 'data' must have one initialized field\n`,
    );
  const { functionCall: call, functionResponse: answer } = part;
  if (isFields(call)) checkFields(call, CALL, `${place}.function_call`);
  if (!isFields(answer)) return;
  checkFields(answer, RESPONSE, `${place}.function_response`);
  if (asText(answer.name) === '')
    throw new Rejection(`* GenerateContentRequest.${place}.function_response.name: Name cannot be empty.\n`);
  if (!isFields(answer.response))
    throw new Rejection(
      `Invalid value at '${place}.function_response.response' (type.googleapis.com/google.protobuf.Struct), ${JSON.stringify(answer.response)}`,
    );
}

const partsWith = (content: Fields | undefined, key: string): readonly Fields[] =>
  fieldsOf(content?.parts).filter((part) => isFields(part[key]));

/** The order of calls and responses. */
function checkTurns(contents: readonly Fields[]): void {
  for (const [index, content] of contents.entries()) {
    const calls = partsWith(content, 'functionCall').length;
    const answers = partsWith(content, 'functionResponse').length;
    const [before, after] = [contents[index - 1], contents[index + 1]];
    if (calls > 0 && (index === 0 || before?.role === 'model'))
      throw new Rejection(
        'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
      );
    if (answers > 0 && partsWith(before, 'functionCall').length === 0)
      throw new Rejection('Please ensure that function response turn comes immediately after a function call turn.');
    if (calls > 0 && after && partsWith(after, 'functionResponse').length !== calls)
      throw new Rejection(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      );
  }
}

export const isGemini3 = (model: string): boolean => /^gemini-[3-9]/.test(model);

/** Gemini 3 wants back the signature of the first call of each step since the user spoke last. */
function checkSignatures(contents: readonly Fields[], model: string, secret: string): void {
  const start = contents.findLastIndex(
    (content) => content.role !== 'model' && partsWith(content, 'functionResponse').length === 0,
  );
  for (const [index, content] of contents.entries()) {
    for (const part of fieldsOf(content.parts)) {
      if (part.thoughtSignature !== undefined && !isSignatureOf(part, secret))
        throw new Rejection('Corrupted thought signature.');
    }
    const [first] = partsWith(content, 'functionCall');
    if (!isGemini3(model) || index <= start || !first || first.thoughtSignature !== undefined) continue;
    const name = (first.functionCall as Fields).name;
    throw new Rejection(
      'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, ' +
        'and missing thought_signature may lead to degraded model performance. Additional data, function call ' +
        `\`default_api:${name}\` , position ${index + 1}. Please refer to ` +
        'https://ai.google.dev/gemini-api/docs/thought-signatures for more details.',
    );
  }
}
