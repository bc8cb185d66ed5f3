/** Calls to the server: how they are sent, and what goes wrong with them. The calls themselves are in endpoints.ts. */

import { auth, credentials, refuse } from "./auth";
import { encodeBody, parseAnswer } from "./json";
import { callUrl, type Param } from "./place";

/** What users put into jobs stays JSON text. */
const USERS_OWN = new Set([
  "payload",
  "result",
  "checkpoint",
  "progress",
  "tags",
  "agent",
  "chain_config",
  "callback_payload",
  "data",
]);
const NOTHING: ReadonlySet<string> = new Set();

/** The server said no, or nothing at all (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }

  /** Whether it may go well the next time. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export interface CallOptions {
  query?: Record<string, Param>;
  body?: unknown;
  signal?: AbortSignal;
  /** Answers whose fields are plain strings although they are named like users' own. */
  plain?: boolean;
}

/** Send a call and read its answer. */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const response = await send(method, path, options);
  const text = await response.text();
  return (text === "" ? null : parseAnswer(text, options.plain ? NOTHING : USERS_OWN)) as T;
}

/** Send a call; the answer's body is left to the caller. Raises ApiError. */
export async function send(method: string, path: string, options: CallOptions = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(callUrl(path, options.query), {
      method,
      signal: options.signal,
      headers: {
        ...credentials(),
        ...(options.body === undefined ? {} : { "Content-Type": "application/json" }),
      },
      body: options.body === undefined ? undefined : encodeBody(options.body),
      credentials: "same-origin",
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, "UNREACHABLE", "The server cannot be reached.");
  }
  if (response.ok) return response;
  throw await errorOf(response);
}

async function errorOf(response: Response): Promise<ApiError> {
  let message =
    response.status === 401 ? "the key was not accepted" : `The server answered ${response.status}.`;
  let code = "UNKNOWN";
  try {
    const told = (await response.json()) as { error?: string; code?: string };
    message = told.error ?? message;
    code = told.code ?? code;
  } catch {
    // A proxy may answer with a page of its own.
  }
  if (response.status === 401 && (code !== "UNKNOWN" || auth.get().refused === null)) refuse(message);
  return new ApiError(response.status, code, message);
}

/** An error in words that can be shown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
