/** Says in words of the command line what the library says in those of its options. */
export function inFlags(message: string): string {
  return message
    .replace(/\b(?:fit|recall|replay) option (\w+)/g, (_, name: string) => `--${kebab(name)}`)
    .replace(/\b(?:createGateway|serve) option (\w+)/g, (_, name: string) => SETTINGS[name] ?? `option ${kebab(name)}`)
    .replace(/\bmaxChars\b/, '--max-chars')
    .replace(", or open with mode 'read'", '');
}

/** Gateway options that are no flag, or have another name as a flag. */
const SETTINGS: Readonly<Record<string, string>> = {
  token: '$PALIMPSEST_TOKEN',
  tenants: 'gateway.tokens',
  hosts: '--allow-host',
  origins: '--allow-origin',
};

const kebab = (name: string): string => name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
