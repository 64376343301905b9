// A text is a decimal number as a whole, with all of its digits, or it is none.

import EspalierModel
import Foundation
import Testing

@Suite struct DecimalTextTests {
    @Test(arguments: [
        ("0", "0"), ("-0.0", "0"), ("12", "12"), ("+7", "7"), ("-12.50", "-12.5"), ("0.001", "0.001"),
        ("1e5", "100000"), ("25e-1", "2.5"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
    ])
    func `a text that is a number is read with all of its digits`(text: String, expected: String) {
        #expect(Decimal(wholeText: text)?.description == expected)
    }

    @Test(arguments: [
        "", "-", ".", "1-", "1-2", "1.5.3", "1,5", "1 ", " 1", "1e", "1e400", "0x10", "nan", "inf", "one",
        "123456789012345678901234567890123456789012345",
    ])
    func `a text of which only the beginning is a number, or with more digits than are kept, is none`(text: String) {
        #expect(Decimal(wholeText: text) == nil)
    }

    @Test func `a coded value is a decimal as a whole`() throws {
        func decoded(_ text: String) throws -> AttributeValue {
            try JSONDecoder().decode(AttributeValue.self, from: Data("{\"decimal\":\"\(text)\"}".utf8))
        }

        #expect(try decoded("1.5") == .decimal(Decimal(3) / 2))
        #expect(throws: DecodingError.self) { try decoded("1-2") }
    }
}
