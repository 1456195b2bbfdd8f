import { type About, countedUnit, nameOf, type Reference, targetName, targetUnit } from './reference-line.ts';

/** The texts of each name. Names are computed on demand: most are never needed. */
export class TextNames {
  /** Indexed by the numbers of the texts. */
  readonly #abouts: (About | undefined)[] = [];
  /** The texts that have no name yet, by the unit of their lines. */
  readonly #unnamed = new Map<string, number[]>();
  /** The numbers of the texts of each name, in rising order. */
  readonly #named = new Map<string, number[]>();

  add(id: number, about: About): void {
    this.#abouts[id] = about;
    push(this.#unnamed, countedUnit(about), id);
  }

  about(id: number): About | undefined {
    return this.#abouts[id];
  }

  remove(id: number): void {
    const about = this.#abouts[id];
    if (!about) return;
    const named = this.likeText(id) as number[];
    // The oldest texts are left out first.
    named.splice(named.indexOf(id), 1);
    if (named.length === 0) this.#named.delete(nameOf(about));
    this.#abouts[id] = undefined;
  }

  /** The texts that have the name of this one, in rising order. */
  likeText(id: number): readonly number[] {
    const about = this.#abouts[id];
    return about ? this.#find(nameOf(about), countedUnit(about)) : [];
  }

  /** The texts that a reference may be about, in rising order. */
  likeTarget(reference: Reference): readonly number[] {
    return this.#find(targetName(reference), targetUnit(reference));
  }

  #find(name: string, unit: string): readonly number[] {
    for (const id of this.#unnamed.get(unit) ?? []) push(this.#named, nameOf(this.#abouts[id] as About), id);
    this.#unnamed.delete(unit);
    return this.#named.get(name) ?? [];
  }
}

function push(lists: Map<string, number[]>, key: string, id: number): void {
  const list = lists.get(key);
  if (list) list.push(id);
  else lists.set(key, [id]);
}
