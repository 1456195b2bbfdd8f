import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyCharacter } from '../../test/support/any-character.ts';
import { countTokens } from './count-tokens.ts';

const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 200 }),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.string({
    unit: fc.constantFrom('a', 'B', '7', ' ', '\n', '\t', '-', '{', '漢', 'か', 'я', '한', '😀', '\ud800'),
    maxLength: 200,
  }),
);

describe('countTokens', () => {
  it('is 0 for nothing and a whole number of 1 or more for anything else', () => {
    expect(countTokens('')).toBe(0);
    fc.assert(
      fc.property(anyText, (text) => {
        const tokens = countTokens(text);
        expect(Number.isInteger(tokens)).toBe(true);
        expect(tokens).toBeGreaterThanOrEqual(text === '' ? 0 : 1);
      }),
    );
  });

  it('never falls when text is appended', () => {
    fc.assert(
      fc.property(anyText, anyText, (text, more) => {
        expect(countTokens(text + more)).toBeGreaterThanOrEqual(countTokens(text));
      }),
    );
  });

  it('counts long texts in ASCII part by part as if in one piece', () => {
    const line = fc.string({
      unit: fc.constantFrom('a', 'B', '7', ' ', '\t', '-', '{', '\r', '.', '"', 'xs'),
      maxLength: 300,
    });
    const lines = fc.array(line, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(lines, (all) => {
        const text = `${all.join('\n')}\n`.padStart(700, 'abc\n').padEnd(701, '\n');
        // 200 times as much is too long for parts.
        expect(countTokens(text)).toBe(Math.ceil(countTokens(text.repeat(200)) / 200));
      }),
      { numRuns: 30 },
    );
  });

  it('counts long texts with other letters part by part as if in one piece', () => {
    // With so much before it, a text is too long for parts. A multiple of 100 equal lines, so that nothing is rounded.
    const tooLong = 'a\n'.repeat(140_000);
    const inOnePiece = (text: string): number => countTokens(tooLong + text) - countTokens(tooLong);
    const numbered = '  12→const total = sum(values);\n'.repeat(40);
    // After one accented letter, the words of all lines up to an empty one are split more often.
    const foreign = `é\n${'words and letters everywhere\n'.repeat(40)}`;
    for (const text of [numbered, foreign]) expect(countTokens(text)).toBe(inOnePiece(text));
    const unit = fc.constantFrom(
      'a',
      'B',
      '7',
      ' ',
      '-',
      '{',
      'word',
      'line',
      '→',
      'é',
      'ї',
      '漢',
      'か',
      '😀',
      '\ud800',
    );
    const lines = fc.array(fc.string({ unit, maxLength: 200 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(lines, (all) => {
        const text = `${'plain text\n'.repeat(60)}${all.join('\n')}`;
        expect(countTokens(text)).toBe(inOnePiece(text));
      }),
    );
  });

  it('depends on nothing but the text', () => {
    const text = 'The same text, 漢字 and 0x7f3a included.';
    const first = countTokens(text);
    countTokens('something else in between 😀');
    expect(countTokens(text)).toBe(first);
  });

  // Counts of o200k_base, from its published vocabulary.
  it.each([
    ['hello world', 2],
    ['The quick brown fox jumps over the lazy dog.', 10],
    ['123456789', 3],
    ['        ', 1],
    ['\n\n', 1],
  ])('counts %j as o200k does: %i', (text, tokens) => {
    expect(Math.abs(countTokens(text) - tokens)).toBeLessThanOrEqual(1);
  });

  it('groups digits by three', () => {
    expect(countTokens('1'.repeat(3000))).toBe(1000);
  });

  it('takes words of prose as about one token each, a fifth of their characters', () => {
    const prose = 'The agent reads the file, finds the failing test and changes one line of the code. '.repeat(50);
    const words = prose.trim().split(/\s+/).length;
    expect(countTokens(prose) / words).toBeGreaterThan(0.9);
    expect(countTokens(prose) / words).toBeLessThan(1.35);
  });

  it('counts base64 far above prose of the same length, and below one token for each character', () => {
    const base64 = 'aGVsbG8gV29ybGQhIFRoaXMgaXMgUmFuZG9tIEJhc2U2NCBkYXRhLCA3Mzk0OA0KJSg5'.repeat(100);
    const perCharacter = countTokens(base64) / base64.length;
    expect(perCharacter).toBeGreaterThan(0.45);
    expect(perCharacter).toBeLessThan(1);
  });

  it('counts Chinese and Japanese by the character, not by the byte', () => {
    const perCharacter = (text: string): number => countTokens(text) / text.length;
    expect(perCharacter('今天天气很好我们去公园散步吧'.repeat(30))).toBeGreaterThan(0.5);
    expect(perCharacter('今天天气很好我们去公园散步吧'.repeat(30))).toBeLessThan(1);
    expect(perCharacter('きょうはとてもいいてんきです'.repeat(30))).toBeLessThan(0.9);
  });

  // Sentences written for this test, with their counts in o200k_base.
  it.each([
    [
      'Japanese',
      130,
      '彼女は古い手紙を引き出しにしまい、窓の外の雨をしばらく眺めていた。昨夜の障害は、設定を変えた直後に起きている。原因が分かるまで、誰も本番の環境に触らないでください。駅前の小さな店で買った傘は、もう三年も使い続けている。この関数は空の配列を渡すと例外を投げるので、呼ぶ前に長さを確かめる。',
    ],
    [
      'Korean',
      104,
      '그녀는 낡은 편지를 서랍에 넣고 창밖의 비를 한참 바라보았다. 어젯밤 장애는 설정을 바꾼 직후에 일어났다. 원인을 알아낼 때까지 아무도 운영 환경을 건드리지 마세요. 역 앞 작은 가게에서 산 우산을 벌써 삼 년째 쓰고 있다. 이 함수는 빈 배열을 넘기면 예외를 던지므로 부르기 전에 길이를 확인한다.',
    ],
    [
      'Thai',
      112,
      'เธอเก็บจดหมายเก่าไว้ในลิ้นชักแล้วมองฝนนอกหน้าต่างอยู่นาน ปัญหาเมื่อคืนเกิดขึ้นทันทีหลังจากเปลี่ยนการตั้งค่า อย่าเพิ่งแตะระบบจริงจนกว่าจะรู้สาเหตุ ร่มที่ซื้อจากร้านเล็กหน้าสถานีใช้มาสามปีแล้ว ฟังก์ชันนี้จะเกิดข้อผิดพลาดถ้าส่งอาร์เรย์ว่าง จึงต้องตรวจความยาวก่อนเรียกใช้',
    ],
    [
      'Hindi',
      103,
      'उसने पुरानी चिट्ठी दराज़ में रखी और देर तक खिड़की से बारिश देखती रही। कल रात की गड़बड़ी सेटिंग बदलने के ठीक बाद हुई। जब तक कारण पता न चले, कोई भी असली सिस्टम को न छुए। स्टेशन के सामने की छोटी दुकान से ली हुई छतरी तीन साल से चल रही है। यह फ़ंक्शन खाली सूची मिलने पर त्रुटि देता है, इसलिए बुलाने से पहले लंबाई जाँच लें।',
    ],
    [
      'Arabic',
      96,
      'وضعت الرسالة القديمة في الدرج وظلت تنظر إلى المطر خلف النافذة. حدث عطل الليلة الماضية مباشرة بعد تغيير الإعدادات. لا يلمس أحد النظام الحقيقي حتى نعرف السبب. المظلة التي اشتريتها من الدكان الصغير أمام المحطة ما زلت أستعملها منذ ثلاث سنوات. ترمي هذه الدالة استثناء عندما تكون المصفوفة فارغة، فتحقق من طولها قبل استدعائها.',
    ],
    [
      'Traditional Chinese',
      93,
      '她把舊信收進抽屜，望著窗外的雨看了很久。昨晚的故障就發生在改了設定之後。在找到原因以前，請不要動正式環境。我在車站前的小店買的雨傘已經用了三年。這個函式收到空陣列時會丟出例外，所以呼叫之前要先檢查長度。',
    ],
    [
      'Simplified Chinese',
      78,
      '她把旧信收进抽屉，望着窗外的雨看了很久。昨晚的故障就发生在改了设置之后。在找到原因以前，请不要动正式环境。我在车站前的小店买的雨伞已经用了三年。这个函数收到空数组时会抛出异常，所以调用之前要先检查长度。',
    ],
    [
      'Russian',
      91,
      'Она убрала старое письмо в ящик и долго смотрела на дождь за окном. Вчерашний сбой произошёл сразу после смены настроек. Пока мы не знаем причину, никто не трогает рабочую систему. Зонт из маленькой лавки у вокзала служит мне уже три года. Эта функция бросает исключение, если передать пустой массив, поэтому сначала проверь длину.',
    ],
    [
      'Ukrainian',
      121,
      'Вона сховала старий лист у шухляду й довго дивилася на дощ за вікном. Учорашній збій стався одразу після зміни налаштувань. Поки ми не знаємо причини, ніхто не чіпає робочу систему. Парасолька з маленької крамниці біля вокзалу служить мені вже три роки. Ця функція кидає виняток, якщо передати порожній масив, тому спочатку перевір довжину.',
    ],
    [
      'Hebrew',
      107,
      'היא שמה את המכתב הישן במגירה והביטה זמן רב בגשם שמחוץ לחלון. התקלה של אמש קרתה מיד אחרי שינוי ההגדרות. עד שנדע מה הסיבה, אף אחד לא נוגע במערכת האמיתית. המטרייה שקניתי בחנות הקטנה מול התחנה משרתת אותי כבר שלוש שנים. הפונקציה הזאת זורקת חריגה כשהמערך ריק, לכן בדוק את האורך לפני הקריאה.',
    ],
    [
      'Greek',
      106,
      'Έβαλε το παλιό γράμμα στο συρτάρι και κοίταζε για ώρα τη βροχή έξω από το παράθυρο. Η χθεσινή βλάβη συνέβη αμέσως μετά την αλλαγή των ρυθμίσεων. Μέχρι να μάθουμε την αιτία, κανείς δεν αγγίζει το πραγματικό σύστημα. Η ομπρέλα από το μικρό μαγαζί απέναντι στον σταθμό κρατάει τρία χρόνια.',
    ],
    [
      'Vietnamese',
      97,
      'Cô ấy cất bức thư cũ vào ngăn kéo và nhìn mưa ngoài cửa sổ rất lâu. Sự cố tối qua xảy ra ngay sau khi đổi cấu hình. Khi chưa biết nguyên nhân thì không ai được chạm vào hệ thống thật. Chiếc ô mua ở cửa hàng nhỏ trước nhà ga tôi đã dùng ba năm rồi. Hàm này ném ngoại lệ nếu mảng rỗng, nên hãy kiểm tra độ dài trước khi gọi.',
    ],
    ['Amharic', 86, 'ይህን ፋይል አንብብና ስህተቱን አስተካክል። ስብሰባው ወደ ሐሙስ ተላልፏል።'],
  ])('counts a few sentences of %s within a tenth of the %i tokens of o200k', (_language, tokens, text) => {
    expect(Math.abs(countTokens(text) / tokens - 1)).toBeLessThanOrEqual(0.1);
  });

  it('counts Han in traditional Chinese as more tokens than in simplified Chinese', () => {
    expect(countTokens('請讀取這個檔案，然後修正失敗的測試。')).toBeGreaterThan(
      countTokens('请读取这个文件，然后修复失败的测试。'),
    );
  });

  it('counts a ruler of one mark as a few tokens', () => {
    expect(countTokens('='.repeat(80))).toBeLessThan(6);
    expect(countTokens('-'.repeat(80))).toBeLessThan(6);
    expect(countTokens(' '.repeat(80))).toBeLessThan(6);
  });

  it('counts lone surrogates and special tokens as text, without an error', () => {
    expect(countTokens('\ud800')).toBe(1);
    expect(countTokens('<|endoftext|>')).toBeGreaterThan(2);
  });

  it('reads 20 MB of anything', () => {
    for (const unit of ['x', ' ', '漢', '\ud800', 'aB3-']) {
      expect(countTokens(unit.repeat(20_000_000 / unit.length))).toBeGreaterThan(1000);
    }
  });
});
