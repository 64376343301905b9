// JSON as programs receive it: read back by another reader.

import Foundation
import Testing

@testable import dbtool

@Suite struct JSONValueTests {
    @Test func `any value reads back through another JSON reader`() throws {
        let value: JSONValue = [
            "text": .string("\"\\\n\r\t\u{0}\u{7F}\u{2028}é日😀"), "low": .integer(.min), "high": .unsigned(.max),
            "number": .number(0.1), "tiny": .number(.leastNonzeroMagnitude), "nan": .number(.nan), "none": .null,
            "list": .array([.boolean(true), .boolean(false), .array([]), [:]]),
        ]

        let parsed = try JSONSerialization.jsonObject(with: Data(value.compact.utf8)) as? [String: Any]

        #expect(parsed?["text"] as? String == "\"\\\n\r\t\u{0}\u{7F}\u{2028}é日😀")
        #expect((parsed?["low"] as? NSNumber)?.int64Value == .min)
        #expect((parsed?["high"] as? NSNumber)?.uint64Value == .max)
        #expect((parsed?["number"] as? NSNumber)?.doubleValue == 0.1)
        #expect(parsed?["nan"] is NSNull)
        #expect((parsed?["list"] as? [Any])?.count == 4)
    }

    @Test func `members keep their order and nothing is on a second line`() {
        let value: JSONValue = ["b": .integer(1), "a": ["z": .null, "y": .string("l\nm")]]

        #expect(value.compact == #"{"b":1,"a":{"z":null,"y":"l\nm"}}"#)
    }
}
