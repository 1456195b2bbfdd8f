import type { Call, ReplyPart, Transcript } from './transcript.ts';

/** Records replies that come as a stream: pieces of text, then calls. A result or a message ends a reply. */
export class StreamedReplies {
  readonly #transcript: Transcript;
  #replies = 0;
  #isOpen = false;
  #text = '';
  #about: ReplyPart = {};

  constructor(transcript: Transcript) {
    this.#transcript = transcript;
  }

  write(text: string, about: ReplyPart): void {
    this.#begin(about);
    this.#text += text;
  }

  call(call: Call, about: ReplyPart): void {
    this.#begin(about);
    this.#flush();
    this.#transcript.reply({ ...about, key: this.#key, calls: [call] });
  }

  /** Ends the text. The next piece begins another part of the same reply. */
  endText(): void {
    this.#flush();
  }

  /** Must be called before anything else is added to the transcript. */
  end(): void {
    this.#flush();
    this.#isOpen = false;
  }

  get #key(): string {
    return `reply ${this.#replies}`;
  }

  #begin(about: ReplyPart): void {
    if (!this.#isOpen) this.#replies += 1;
    this.#isOpen = true;
    if (this.#text === '') this.#about = about;
  }

  #flush(): void {
    if (this.#text !== '') this.#transcript.reply({ ...this.#about, key: this.#key, text: this.#text });
    this.#text = '';
  }
}
