// The values that an attribute accepts, and the conversion or refusal of others (Behaviour MD-18 to MD-26).

import EspalierModel
import Foundation
import Testing

@Suite struct AttributeTypeTests {
    private static let samples: [AttributeType: [AttributeValue]] = [
        .integer16: [.integer(-32768), .integer(32767)], .integer32: [.integer(Int64(Int32.min))],
        .integer64: [.integer(.max)], .decimal: [.decimal(1)], .double: [.double(.nan)], .float: [.float(1)],
        .string: [.string("x")], .boolean: [.boolean(true)], .date: [.date(Date(timeIntervalSinceReferenceDate: 1))],
        .binary: [.binary(Data())], .uuid: [.uuid(UUID())], .uri: [.uri(URL(fileURLWithPath: "/x"))],
        .transformable: [.transformable(Data())], .composite: [.composite([:])],
    ]

    @Test func `each type takes its own values and null, and no other kind`() {
        for (type, values) in Self.samples {
            #expect(type.accepts(.null))
            for value in values { #expect(type.accepts(value), "\(type) \(value)") }
            for (other, values) in Self.samples where other != type && !(other.isNumeric && type.isNumeric) {
                for value in values { #expect(!type.accepts(value), "\(type) \(value)") }
            }
        }
    }

    @Test func `the range of integers is checked (MD-19)`() {
        #expect(!AttributeType.integer16.accepts(.integer(32768)))
        #expect(!AttributeType.integer32.accepts(.integer(Int64(Int32.max) + 1)))
        #expect {
            try AttributeType.integer16.converting(.integer(40000))
        } throws: {
            "\($0)" == "40000 is out of range for type integer16, which takes whole numbers from -32768 to 32767"
        }
    }

    @Test(arguments: [
        (AttributeType.double, AttributeValue.integer(3), AttributeValue.double(3)),
        (.double, .decimal(Decimal(string: "0.1") ?? 0), .double(0.1)),
        (.decimal, .double(0.1), .decimal(Decimal(string: "0.1") ?? 0)),
        (.decimal, .integer(7), .decimal(7)), (.float, .double(0.1), .float(0.1)),
        (.integer16, .double(12), .integer(12)),
        (.integer64, .decimal(-5), .integer(-5)), (.boolean, .integer(1), .boolean(true)),
        (.double, .float(0.5), .double(0.5)),
    ]) func `a number becomes a number of the type if that loses nothing`(
        type: AttributeType, value: AttributeValue, expected: AttributeValue
    ) throws {
        #expect(try type.converting(value) == expected)
    }

    @Test(arguments: [
        (AttributeType.integer64, AttributeValue.double(1.5), "no exact value"),
        (.integer64, .double(1e30), "out of range"),
        (.double, .integer((1 << 53) + 1), "no exact value"), (.string, .integer(1), "takes text"),
        (.integer64, .string("1"), "takes whole numbers"), (.boolean, .integer(2), "takes true or false"),
        (.integer16, .boolean(true), "takes whole numbers"), (.decimal, .double(.infinity), "no exact value"),
        (.date, .double(0), "takes dates"),
    ]) func `other values are refused with what would be right`(
        type: AttributeType, value: AttributeValue, part: String
    ) {
        #expect {
            try type.converting(value)
        } throws: {
            "\($0)".contains(part)
        }
    }

    @Test func `elements of a composite are checked one by one (MD-26)`() throws {
        let label = AttributeDescription(
            "label", .composite,
            elements: [AttributeDescription("name", .string), AttributeDescription("code", .integer16)])

        #expect(label.accepts(.composite(["name": .string("x"), "code": .null])))
        #expect(!label.accepts(.composite(["code": .integer(70000)])))
        #expect(try label.converting(.composite(["code": .double(3)])) == .composite(["code": .integer(3)]))
        #expect(throws: AttributeValueError.unknownElement("nam")) { try label.converting(.composite(["nam": .null])) }
        #expect {
            try label.converting(.composite(["code": .string("x")]))
        } throws: {
            "\($0)".hasPrefix("element 'code': the text \"x\"")
        }
    }

    @Test(arguments: [
        ("2001-01-01", 0), ("2001-01-01T00:00:01.25Z", 1.25), ("2000-02-29 12:30", -26479800),
        ("1999-12-31T23:59:59-01:00", -31_618_801), ("0001-01-01", -63_113_904_000), ("2400-02-29", 12596256000),
    ]) func `dates are read from ISO 8601 text`(text: String, seconds: Double) throws {
        let predicate = try FetchPredicate(format: "a == CAST(%@, 'NSDate')", FetchExpression.value(.string(text)))
        #expect(predicate == (try FetchPredicate(format: "a == %@", Date(timeIntervalSinceReferenceDate: seconds))))
    }

    @Test(arguments: ["2001-13-01", "2001-02-29", "2001-1-1", "2001-01-01T25:00", "x", "", "2001-01-01T00:00:00+1"])
    func `other text is no date`(text: String) {
        #expect(throws: FetchPredicateError.self) {
            try FetchPredicate(format: "a == CAST(%@, 'NSDate')", FetchExpression.value(.string(text)))
        }
    }
}
