import { type ServerResponse, STATUS_CODES } from 'node:http';

interface ApiError {
  readonly code: string;
  readonly message: string;
}

/** Answers with an error of the gateway's own routes. */
export function answerError(response: ServerResponse, status: number, error: ApiError): void {
  answerJson(response, status, { error });
}

/** Answers in JSON. Never throws, so it is safe in a catch: if it cannot answer, it ends the connection. */
export function answerJson(response: ServerResponse, status: number, value: object): void {
  try {
    const text = Buffer.from(JSON.stringify(value));
    // The reason is set explicitly: one from an upstream may still be set on this response.
    response.writeHead(status, STATUS_CODES[status] ?? '', {
      'content-type': 'application/json; charset=utf-8',
      'content-length': text.length,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.end(text);
  } catch {
    response.destroy();
  }
}

/** Answers in place of an upstream, in a shape in which the clients of all providers find the message. */
export function answerFailure(
  response: ServerResponse,
  status: number,
  failure: { type: string; message: string },
): void {
  answerJson(response, status, { type: 'error', error: { ...failure, code: failure.type } });
}
