import { expect, it } from 'vitest';
import { totals } from '../../../test/support/gateway/receipts.ts';
import { showReceipt } from './show-receipt.ts';

const place = { store: '/store', tenant: 'default', isUsual: true };

it('the receipt of a run whose provider never answered says so, and nothing of longer sessions', () => {
  const shown = showReceipt(totals({ requests: 49, conversations: 1, failed: 49 }), place);
  expect(shown).toContain('\n  failed    all of them: no answer from the provider, or an error\n');
  expect(shown).toContain('\n  saved     nothing: no request was answered\n');
});

it('the receipt of a run counts the requests that failed', () => {
  const cost = { without: 100, sent: 100 };
  const shown = showReceipt(totals({ requests: 9, conversations: 1, failed: 1, cost }), place);
  expect(shown).toContain('\n  failed    1 request: no answer from the provider, or an error\n');
  expect(shown).toContain('\n  saved     nothing yet: masking pays in longer sessions\n');
});

it('the receipt of a run without failures does not mention them', () => {
  expect(showReceipt(totals({ requests: 9, conversations: 1 }), place)).not.toContain('failed');
});
