// Where the Rowmill under test is, and its token.
const { ROWMILL_URL, ROWMILL_TOKEN } = process.env;
if (!ROWMILL_URL || !ROWMILL_TOKEN) throw new Error("set ROWMILL_URL and ROWMILL_TOKEN, as the Go test of cmd/rowmill does");

export const apiUrl = `${ROWMILL_URL}/api/v1`;
export const authorization = `Bearer ${ROWMILL_TOKEN}`;
