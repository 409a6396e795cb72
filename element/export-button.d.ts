// Made by "npm run types" of export-button.js, sha256 71cf82bfaa1498e5a61fed7a69c82301b46922e6313623ca9f6a8dc4e0a08186.
/**
 * Reads a filter: a JSON object, or the list's query string (with or without the
 * address before it), whose _sort and _order come along and whose page does not.
 * @param {string | null | undefined} text
 * @returns {{filter: Filter, sort?: string, order?: string}}
 * @throws {SyntaxError} where the text looks like JSON and is none
 */
export function parseFilter(text: string | null | undefined): {
    filter: Filter;
    sort?: string;
    order?: string;
};
/**
 * Reads keys of columns: parted by commas or spaces, or as a JSON list. Each comes once.
 * @param {string | null | undefined} text
 * @returns {string[]}
 */
export function parseColumns(text: string | null | undefined): string[];
/**
 * Gives the seconds to wait before the next try: what the server asked for, or
 * 1, 2, 4 … 30, less up to a quarter so that not everybody comes back at once.
 * @param {number} failures in a row, from 0 on
 * @param {string | null} [retryAfter] the header: seconds or a date
 * @param {{random?: number, now?: number}} [chance] for tests
 */
export function retryDelay(failures: number, retryAfter?: string | null, { random, now }?: {
    random?: number;
    now?: number;
}): number;
/**
 * Follows how fast rows are written; the newest 5 seconds weigh the most.
 * @returns {(rows: number, all: number, at: number) => number | undefined} takes the rows written, those
 *   expected and the time in ms; gives the seconds left, or undefined while that is not known
 */
export function timeLeft(): (rows: number, all: number, at: number) => number | undefined;
/**
 * Reads server-sent events out of text that comes in pieces.
 * @param {(event: string, data: string) => void} on
 * @returns {(text: string) => void}
 */
export function eventReader(on: (event: string, data: string) => void): (text: string) => void;
/**
 * Gives the file's name out of a Content-Disposition, preferring its UTF-8 form.
 * @param {string | null} header
 * @returns {string} empty if it has none
 */
export function fileNameOf(header: string | null): string;
/** @param {number} bytes @param {string} [language] */
export function formatBytes(bytes: number, language?: string): string;
/** @param {number} seconds @param {string} [language] */
export function formatSeconds(seconds: number, language?: string): string;
/**
 * The button. Attributes: dataset, filter, sort, order, columns, format, language, time-zone, gateway, token-callback.
 * @fires export-state with the job as detail, whenever it has changed
 * @fires export-done with the job as detail, once its file can be downloaded
 */
export class ExportButton extends HTMLElement {
    static observedAttributes: string[];
    connectedCallback(): void;
    disconnectedCallback(): void;
    /** @param {string} name @param {string | null} before @param {string | null} after */
    attributeChangedCallback(name: string, before: string | null, after: string | null): void;
    /** The job that is shown. */
    get job(): Job | undefined;
    set tokenProvider(provider: TokenProvider | undefined);
    /** Gives the bearer token of each call; wins over token-callback. Without either cookies are used. */
    get tokenProvider(): TokenProvider | undefined;
    set filter(value: string | Filter | null);
    /** @returns {string | Filter | null} */
    get filter(): string | Filter | null;
    set columns(value: string | string[] | null);
    /** @returns {string | string[] | null} */
    get columns(): string | string[] | null;
    #private;
}
export type Language = "ko" | "en";
/**
 * Gives a bearer token; asked before each call.
 */
export type TokenProvider = () => Promise<string> | string;
/**
 * The list's filter parameters and their values.
 */
export type Filter = Record<string, string[]>;
/**
 * A job as the gateway's GET /api/v1/exports/{id} gives it.
 */
export type Job = {
    id: string;
    status: "queued" | "running" | "succeeded" | "failed" | "canceled" | "expired";
    /**
     * Of a running job.
     */
    phase?: "verify" | "fetch" | "snapshot" | "publish" | undefined;
    /**
     * 100 exactly when the file can be downloaded.
     */
    percent: number;
    /**
     * 0: not known yet.
     */
    rows_expected: number;
    rows_written: number;
    /**
     * In the queue; 1 runs next.
     */
    place?: number | undefined;
    notice?: {
        code: string;
        message: string;
        since: string;
    } | undefined;
    attempt: number;
    request: Record<string, any>;
    expires_at?: string | undefined;
    personal?: boolean | undefined;
    failure?: {
        code: string;
        message: string;
    } | undefined;
    receipt?: {
        bytes: number;
        written: number;
    } | undefined;
    links: {
        self: string;
        file?: string;
    };
};
export type Preflight = {
    rows: number;
    bytes: number;
    seconds: number;
    reason_required: boolean;
    /**
     * 0: no limit.
     */
    max_rows: number;
    warnings: {
        code: string;
        message: string;
        suggest: string;
    }[];
};
/**
 * What the panel needs of its button.
 */
export type Host = {
    language: Language;
    dataset: string;
    /**
     * The order without columns and format; throws where an attribute cannot be read.
     */
    order: () => Record<string, any>;
    /**
     * Those on the screen; empty: the dataset's own.
     */
    columns: () => string[];
    format: string;
    /**
     * Where to sign in, if that is known.
     */
    signIn: string;
    call: (path: string, options?: any) => Promise<Response>;
    start: (body: string) => Promise<void>;
    words: (problem: Problem) => string;
};
/** An answer that is no success, or none at all (status 0). */
declare class Problem extends Error {
    /** @param {number} status @param {string} [detail] @param {string | null} [retryAfter] */
    constructor(status: number, detail?: string, retryAfter?: string | null);
    status: number;
    detail: string;
    retryAfter: string | null;
}
export {};

declare global {
  interface HTMLElementTagNameMap { 'export-button': ExportButton }
  interface HTMLElementEventMap { 'export-state': CustomEvent<Job>; 'export-done': CustomEvent<Job> }
}
