// Bytes in the output for people: text, digits, dumps.

import Testing

@testable import dbtool

@Suite struct BytesTextTests {
    @Test func `text is shown as text and everything else as digits`() {
        #expect(BytesText.short(Array("Föö".utf8)) == "\"Föö\"")
        #expect(BytesText.short([0, 255]) == "00ff")
        #expect(BytesText.short([]) == "")
        #expect(BytesText.short(Array("say \"hi\"".utf8)) == BytesText.hex(Array("say \"hi\"".utf8)))
        #expect(BytesText.short([UInt8](repeating: 0, count: 1000), byteCountMax: 4) == "00000000… (1,000 bytes)")
        #expect(BytesText.hex(UInt32(255)) == "0x000000ff")
    }

    @Test func `a dump shows offset, digits and letters and folds equal lines`() {
        let bytes = Array("0123456789abcdef".utf8) + [UInt8](repeating: 0, count: 64) + [1, 2]

        #expect(
            BytesText.dump(bytes) == """
                00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  |0123456789abcdef|
                00000010  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
                *
                00000050  01 02                                             |..|

                """)
    }
}
