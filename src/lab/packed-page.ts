import type { MaskedResult, ReplayPage, RunDetail, Schedule } from './replay-result.ts';

/** A page that contains every text once, because policies mask the same results at every price list. */
export interface PackedPage {
  readonly result: ReplayPage['result'];
  readonly details: readonly DetailOf<PackedResult>[];
  readonly texts: readonly string[];
}

/** A masked result with the indices of its texts. */
interface PackedResult extends Omit<MaskedResult, 'placeholder' | 'text'> {
  readonly placeholder: number;
  readonly text: number;
}

interface DetailOf<Masked> extends Omit<RunDetail, 'schedules'> {
  readonly schedules: Readonly<Record<string, Omit<Schedule, 'masked'> & { readonly masked: readonly Masked[] }>>;
}

export function packPage({ result, details }: ReplayPage): PackedPage {
  const indexes = new Map<string, number>();
  const indexOf = (text: string): number => {
    const index = indexes.get(text) ?? indexes.size;
    indexes.set(text, index);
    return index;
  };
  const packed = mapMasked<MaskedResult, PackedResult>(details, (masked) => ({
    ...masked,
    placeholder: indexOf(masked.placeholder),
    text: indexOf(masked.text),
  }));
  return { result, details: packed, texts: [...indexes.keys()] };
}

export function unpackPage({ result, details, texts }: PackedPage): ReplayPage {
  const unpacked = mapMasked<PackedResult, MaskedResult>(details, (masked) => ({
    ...masked,
    placeholder: texts[masked.placeholder] ?? '',
    text: texts[masked.text] ?? '',
  }));
  return { result, details: unpacked };
}

const mapMasked = <From, To>(details: readonly DetailOf<From>[], to: (masked: From) => To): DetailOf<To>[] =>
  details.map((detail) => ({
    ...detail,
    schedules: Object.fromEntries(
      Object.entries(detail.schedules).map(([name, schedule]) => [
        name,
        { ...schedule, masked: schedule.masked.map(to) },
      ]),
    ),
  }));
