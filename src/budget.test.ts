import { describe, expect, it } from 'vitest';
import { defaultContextWindow } from './budget.ts';

describe('defaultContextWindow', () => {
  it.each([
    ['gpt-5', 400_000],
    ['gpt-5-mini-2025-08-07', 400_000],
    ['gpt-4.1', 1_000_000],
    ['gpt-4.1-nano', 1_000_000],
    ['gpt-4o', 128_000],
    ['gpt-4o-mini', 128_000],
    ['gpt-4-turbo', 128_000],
    ['gpt-4', 128_000],
    ['gpt-4-0613', 128_000],
    ['claude-sonnet-5', 200_000],
    ['claude-3-5-haiku-20241022', 200_000],
    ['gemini-2.5-pro', 1_000_000],
    ['grok-4', 2_000_000],
    ['grok-4-fast', 2_000_000],
    ['grok-3', 131_072],
    ['deepseek-v3', 163_840],
    ['deepseek-v3.1', 163_840],
    ['deepseek-chat-v3', 163_840],
    ['deepseek-chat-v3-0324', 163_840],
    ['deepseek-r1', 128_000],
    ['deepseek-chat', 128_000],
    ['qwen3', 131_072],
    ['qwen3-coder', 131_072],
    ['qwen-max', 128_000],
    ['qwen2.5', 128_000],
    ['llama-4-scout', 327_680],
    ['llama-3.3-70b', 128_000],
    ['mistral-large', 262_144],
    ['mistral-large-2411', 262_144],
    ['mistral-small', 128_000],
    ['mixtral-8x7b', 128_000],
    ['o3', 128_000],
    ['phi-4', 128_000],
    ['', 128_000],
  ])('%s has %i', (model, tokens) => {
    expect(defaultContextWindow(model)).toBe(tokens);
  });

  it('does not mind case or a vendor before the name', () => {
    expect(defaultContextWindow('GPT-4.1')).toBe(1_000_000);
    expect(defaultContextWindow('openrouter/x-ai/Grok-4')).toBe(2_000_000);
    expect(defaultContextWindow('us.anthropic.claude-sonnet-4-20250514-v1:0')).toBe(200_000);
  });

  it("looks at the user's own table first, in its own order", () => {
    const own = { 'Claude-Sonnet': 1_000_000, claude: 50_000, mine: 9 };
    expect(defaultContextWindow('claude-sonnet-5', own)).toBe(1_000_000);
    expect(defaultContextWindow('claude-opus-5', own)).toBe(50_000);
    expect(defaultContextWindow('MINE', own)).toBe(9);
    expect(defaultContextWindow('gpt-5', own)).toBe(400_000);
  });
});
