import { describe, expect, it } from 'vitest';
import { setUpCommand } from './set-up-command.ts';

describe('setUpCommand', () => {
  it('names a port that serve would not choose by itself', () => {
    expect(setUpCommand('http://127.0.0.1:8799')).toBe('npx palimpsest serve --for <agent> --port 8799');
    expect(setUpCommand('http://127.0.0.1:8787/_palimpsest/#/c/1')).toBe('npx palimpsest serve --for <agent>');
    expect(setUpCommand('https://gateway.example/_palimpsest/')).toBe('npx palimpsest serve --for <agent>');
  });
});
