/** Translates option names in an error of the library into flags of the command line. */
export function inFlags(message: string): string {
  return message
    .replace(/\b(?:fit|recall|replay|listen) option (\w+)/g, (_, name: string) => `--${kebab(name)}`)
    .replace(/\b(?:createGateway|serve) option (\w+)/g, (_, name: string) => SETTINGS[name] ?? `option ${kebab(name)}`)
    .replace(/ option ([a-z]+[A-Z]\w*)/g, (_, name: string) => ` option ${kebab(name)}`)
    .replace('pass { format } to say which it is', 'name it with --format')
    .replace(/ but found undefined\b/g, ' but found nothing')
    .replace(/\bmaxChars\b/, '--max-chars')
    .replace(/\braise maxTokens\b/, 'raise --max-tokens')
    .replace(", or open with mode 'read'", ', or name another store');
}

/** Gateway options without a flag, or with a flag of another name. */
const SETTINGS: Readonly<Record<string, string>> = {
  token: '$PALIMPSEST_TOKEN',
  tenants: 'gateway.tokens',
  hosts: '--allow-host',
  origins: '--allow-origin',
};

const kebab = (name: string): string => name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
