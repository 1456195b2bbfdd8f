import type { ServerResponse } from 'node:http';

export interface ApiError {
  readonly code: string;
  readonly message: string;
}

/** Answers with an error of the gateway's own routes. */
export function answerError(response: ServerResponse, status: number, error: ApiError): void {
  if (response.headersSent) response.destroy();
  else answerJson(response, status, { error });
}

export function answerJson(response: ServerResponse, status: number, value: object): void {
  const text = Buffer.from(JSON.stringify(value));
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': text.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(text);
}

/** Answers in the place of an upstream, in the shape in which the clients of all providers look for a message. */
export function answerFailure(
  response: ServerResponse,
  status: number,
  failure: { type: string; message: string },
): void {
  if (response.headersSent) response.destroy();
  else answerJson(response, status, { type: 'error', error: { ...failure, code: failure.type } });
}
