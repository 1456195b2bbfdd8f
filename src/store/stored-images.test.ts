import { describe, expect, it } from 'vitest';
import { imagesIn } from './stored-images.ts';

const data = Buffer.from('a picture').toString('base64');
const png = { mimeType: 'image/png', data };

describe('the images in a stored result', () => {
  it.each<[string, unknown]>([
    ['Anthropic', { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }],
    ['Responses', { type: 'input_image', image_url: `data:image/png;base64,${data}`, detail: 'auto' }],
    ['chat completions', { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }],
    ['Gemini', { inlineData: { mimeType: 'image/png', data } }],
    ['Gemini in snake case', { inline_data: { mime_type: 'image/png', data } }],
    ['MCP and the AI SDK', { type: 'image', data, mimeType: 'image/png' }],
    ['the newest AI SDK', { type: 'image-data', data, mediaType: 'image/png' }],
    ['LangChain', { type: 'image', source_type: 'base64', mime_type: 'image/png', data }],
    ['Converse', { image: { format: 'png', source: { bytes: data } } }],
    ['the Agents SDK', { type: 'input_image', image: `data:image/png;base64,${data}` }],
  ])('are found as %s writes them, between texts', (_name, block) => {
    const stored = JSON.stringify([{ type: 'text', text: 'before' }, block, { type: 'text', text: 'after' }]);
    expect(imagesIn(stored)).toEqual({ text: 'before\n[image 1: image/png]\nafter', images: [png] });
  });

  it('are found inside an answer that is an object', () => {
    const stored = JSON.stringify({ output: 'seen', parts: [{ inlineData: { mimeType: 'image/webp', data } }] });
    expect(imagesIn(stored)).toEqual({
      text: '{"output":"seen","parts":["[image 1: image/webp]"]}',
      images: [{ mimeType: 'image/webp', data }],
    });
  });

  it.each([
    'image/png is a type',
    '["image/png"]',
    '{"type":"image","data":"not base64!","mimeType":"image/png"}',
    '[{"type":"image_url","image_url":{"url":"https://example.com/image/a.png"}}]',
    '{"data":"QUJD","mimeType":"application/pdf","note":"image/png"}',
    '[{"type":"image"',
    '{"image":{"format":"../png","source":{"bytes":"QUJD"}}}',
  ])('are none in %s', (stored) => {
    expect(imagesIn(stored)).toBeUndefined();
  });
});
