// Rules of attributes in compiled models, compared with those in the model file of the same model.
//
// No compiled model among the test data has rules. The archives here have the classes and fields with which Foundation
// archives predicates, made by hand.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct CompiledRuleTests {
    typealias Item = ArchiveBuilder.Item

    // The kinds of operators.
    private let less: Int64 = 0
    private let atMost: Int64 = 1
    private let atLeast: Int64 = 3
    private let equal: Int64 = 4
    private let matches: Int64 = 6

    /// The compiled model of an entity `A` whose attributes have these types and predicates.
    private func compiled(
        _ attributes: [(name: String, type: AttributeType, predicates: [Item])], _ builder: ArchiveBuilder,
        warnings: [Item] = []
    ) throws -> ModelDocument {
        var builder = builder
        let properties = attributes.map { attribute in
            let fields: [(String, Item)] = [
                ("NSAttributeType", .integer(Int64(attribute.type.rawValue))), ("NSIsOptional", .boolean(true)),
                ("NSValidationPredicates", builder.list(attribute.predicates)),
                ("NSValidationWarnings", builder.list(warnings)),
            ]
            return (attribute.name, builder.add("NSAttributeDescription", fields))
        }
        let entity = builder.add(
            "NSEntityDescription", [("NSEntityName", .text("A")), ("NSProperties", builder.map(properties))])
        let root = builder.add("NSManagedObjectModel", [("NSEntities", builder.map([("A", entity)]))])
        return try ModelDocument(compiled: builder.archive(root), path: "f")
    }

    /// The predicate that says a condition; of those for dates, one or the other.
    private func predicate(
        _ condition: ValidationRule.Condition, _ builder: inout ArchiveBuilder, _ chance: inout SeededGenerator
    ) -> Item {
        switch condition {
        case .minimum(let limit): predicate(limit, atLeast, &builder, &chance)
        case .maximum(let limit): predicate(limit, atMost, &builder, &chance)
        case .minimumLength(let count): builder.comparison(.keyPath("length"), atLeast, .integer(Int64(count)))
        case .maximumLength(let count): builder.comparison(.keyPath("length"), atMost, .integer(Int64(count)))
        case .pattern(let pattern): builder.comparison(.itself, matches, .text(pattern))
        case .predicate: .null
        }
    }

    private func predicate(
        _ limit: AttributeValue, _ kind: Int64, _ builder: inout ArchiveBuilder, _ chance: inout SeededGenerator
    ) -> Item {
        switch limit {
        case .integer(let number): return builder.comparison(.itself, kind, .integer(number))
        case .double(let number): return builder.comparison(.itself, kind, .real(number))
        case .float(let number): return builder.comparison(.itself, kind, .real(Double(number)))
        case .decimal(let number): return builder.comparison(.itself, kind, builder.decimal(number))
        case .date(let date):
            let seconds = date.timeIntervalSinceReferenceDate
            if Bool.random(using: &chance) {
                return builder.comparison(.keyPath("timeIntervalSinceReferenceDate"), kind, .real(seconds))
            }
            return builder.comparison(.itself, kind, builder.add("NSDate", [("NS.time", .real(seconds))]))
        default: return .null
        }
    }

    private func conditions(
        _ type: AttributeType, _ chance: inout SeededGenerator
    ) -> [ValidationRule.Condition] {
        func limit() -> AttributeValue {
            switch type {
            case .integer16: .integer(Int64(Int16.random(in: .min ... .max, using: &chance)))
            case .integer32: .integer(Int64(Int32.random(in: .min ... .max, using: &chance)))
            case .integer64: .integer(.random(in: .min ... .max, using: &chance))
            case .double: .double(Double(bitPattern: chance.next() & 0x7FEF_FFFF_FFFF_FFFF))
            case .float: .float(Float(bitPattern: UInt32(chance.next() & 0x7F7F_FFFF)))
            case .date: .date(Date(timeIntervalSinceReferenceDate: .random(in: -1e10...1e10, using: &chance)))
            case .decimal:
                .decimal(
                    Decimal(
                        sign: Bool.random(using: &chance) ? .plus : .minus,
                        exponent: .random(in: -20...20, using: &chance), significand: Decimal(chance.next())))
            default: .null
            }
        }
        // Two limits that some value keeps.
        func limits() -> [ValidationRule.Condition] {
            let (one, other) = (limit(), limit())
            return one.satisfies(.lessThanOrEqual, other, [])
                ? [.minimum(one), .maximum(other)] : [.minimum(other), .maximum(one)]
        }
        let all: [ValidationRule.Condition] =
            type == .string
            ? [
                .minimumLength(.random(in: 0...9, using: &chance)),
                .maximumLength(.random(in: 0 ... .max, using: &chance)), .pattern("[^<>&\"é]*\n?"),
            ] : limits()
        return all.shuffled(using: &chance).filter { _ in Bool.random(using: &chance) }
    }

    @Test func `a compiled model has the rules of the file that it was compiled of (MD-16)`() throws {
        let seed = testSeed(default: 1770)
        for number in 0..<UInt64(campaignCount("ESPALIER_COMPILED_RULES", default: 30)) {
            var chance = SeededGenerator(seed: seed &+ number)
            var builder = ArchiveBuilder()
            var attributes: [AttributeDescription] = []
            var archived: [(name: String, type: AttributeType, predicates: [Item])] = []
            let types: [AttributeType] = [
                .integer16, .integer32, .integer64, .decimal, .double, .float, .date, .string,
            ]
            for (place, type) in types.enumerated() {
                let conditions = conditions(type, &chance)
                attributes.append(
                    AttributeDescription("a\(place)", type, validationRules: conditions.map { ValidationRule($0) }))
                archived.append(("a\(place)", type, conditions.map { predicate($0, &builder, &chance) }))
            }
            let model = try ManagedObjectModel(entities: [EntityDescription("A", attributes: attributes)])

            let file = try ModelDocument(xml: try ModelDocument(model).xml())
            let fromFile = try ManagedObjectModel(file)
            let fromArchive = try ManagedObjectModel(try compiled(archived, builder))
            #expect(fromFile.descriptions == model.descriptions, "seed \(seed &+ number)")
            #expect(fromArchive.descriptions == model.descriptions, "seed \(seed &+ number)")
        }
    }

    @Test func `an archive of another program has the model of its file, and rules (MD-02, MD-16)`() throws {
        let archive = Checkout.root.appending(path: "Fuzz/Corpus/compiled-model/zoo-rules.mom")
        let file = Checkout.root.appending(path: "Tests/EspalierCoreDataTests/Stores/Zoo.xcdatamodel")
        let archived = try ManagedObjectModel(contentsOf: archive, ignoring: [.validationRules])
        var plain = archived.descriptions
        for entity in plain.indices {
            for index in plain[entity].attributes.indices { plain[entity].attributes[index].validationRules = [] }
        }
        let written = try ManagedObjectModel(contentsOf: file)
        #expect(plain == written.descriptions)

        let person = try #require(archived.entity(named: "Person"))
        func rules(_ name: String) -> [ValidationRule.Condition]? {
            person.attribute(named: name)?.description.validationRules.map(\.condition)
        }
        #expect(rules("name") == [.minimumLength(0), .maximumLength(9), .pattern(".*")])
        #expect(rules("weight") == [.minimum(.double(-1.5))])
        #expect(rules("birth") == [.maximum(.date(Date(timeIntervalSinceReferenceDate: 9e8)))])
        #expect(rules("small") == [] && rules("large") == [])
        #expect(try ModelDocument(contentsOf: archive).conversion().unsupportedFeatures == [.validationRules])
    }

    @Test func `a rule of a compiled model that no word says is told as text, and no rule (MD-16)`() throws {
        var builder = ArchiveBuilder()
        let day = builder.add("NSDate", [("NS.time", .real(1))])
        func itself(_ kind: Int64, _ limit: Item, _ field: (String, Item)? = nil) -> Item {
            builder.comparison(.itself, kind, limit, field)
        }
        let forms: [(AttributeType, Item, String)] = [
            (.integer32, itself(less, .integer(5)), "SELF < 5"),
            (.integer32, itself(atMost, .real(.infinity)), "SELF <= inf"),
            (.integer32, itself(atMost, .integer(5), ("NSNegate", .boolean(true))), "SELF <=[…] 5"),
            (.integer32, itself(atMost, .integer(5), ("NSModifier", .integer(2))), "SELF <=[…] 5"),
            (.string, itself(matches, .text("a"), ("NSFlags", .integer(1))), "SELF MATCHES[…] \"a\""),
            (.string, itself(matches, .text("")), "SELF MATCHES \"\""),
            (.string, itself(atLeast, .text("a")), "SELF >= \"a\""),
            (.string, builder.comparison(.keyPath("description"), equal, .text("A")), "description == \"A\""),
            (.binary, builder.comparison(.keyPath("length"), atLeast, .integer(1)), "length >= 1"),
            (.boolean, itself(atLeast, .boolean(true)), "SELF >= YES"), (.date, itself(equal, day), "SELF == 1.0"),
            (.integer16, builder.comparison(.other("NSOther"), 77, .null), "NSOther operator 77 nil"),
            (.integer16, builder.add("NSCompoundPredicate", []), "NSCompoundPredicate"), (.integer16, .null, "?"),
        ]
        let attributes = forms.enumerated().map { place, form in
            (name: "a\(place + 10)", type: form.0, predicates: [form.1])
        }
        let document = try compiled(attributes, builder)
        let elements = try #require(document.root.children(.entity).first).children(.attribute)

        #expect(elements.map { $0["validationPredicates"] } == forms.map(\.2))
        let conversion = try document.conversion()
        #expect(conversion.unsupportedFeatures == [.validationRules])
        #expect(
            conversion.unsupported.first?.message
                == "has the rule validationPredicates=\"SELF < 5\", which Espalier does not check: "
                + "no word of model files says the same; set it in code")
        #expect(throws: ModelFileError.self) { try ManagedObjectModel(document) }
        let model = try ManagedObjectModel(document, ignoring: [.validationRules])
        #expect(model.descriptions[0].attributes.flatMap(\.validationRules).isEmpty)
    }

    @Test func `a second rule of one kind, a message and predicates of a relationship are told (MD-16)`() throws {
        var builder = ArchiveBuilder()
        let limits = [3, 5].map { builder.comparison(.itself, atLeast, .integer($0)) }
        let document = try compiled([("n", .integer32, limits)], builder, warnings: [.text("too low"), .integer(1620)])
        let attribute = try #require(document.root.children(.entity).first?.children(.attribute).first)
        #expect(attribute["minValueString"] == "3")
        #expect(attribute["validationPredicates"] == "minValueString 5")
        #expect(attribute["validationWarnings"] == "too low")
        let model = try ManagedObjectModel(document, ignoring: [.validationRules])
        #expect(model.descriptions[0].attributes[0].validationRules == [ValidationRule(.minimum(.integer(3)))])

        var other = ArchiveBuilder()
        let relationship = other.add(
            "NSRelationshipDescription",
            [
                ("_NSDestinationEntityName", .text("A")),
                ("NSValidationPredicates", other.list([other.comparison(.itself, equal, .null)])),
            ])
        let entity = other.add(
            "NSEntityDescription", [("NSEntityName", .text("A")), ("NSProperties", other.map([("r", relationship)]))])
        let root = other.add("NSManagedObjectModel", [("NSEntities", other.map([("A", entity)]))])
        let conversion = try ModelDocument(compiled: other.archive(root)).conversion()
        #expect(conversion.unsupportedFeatures == [.validationRules])
        #expect(conversion.unsupported.first?.message.contains("validationPredicates=\"SELF == nil\"") == true)
    }

    /// The compiled model of an entity `A` with a relationship `r` of these limits and predicates.
    private func compiled(
        limits: ClosedRange<Int64>, isOptional: Bool = false, warnings: [Item] = [],
        _ predicates: (inout ArchiveBuilder) -> [Item]
    ) throws -> ModelDocument {
        var builder = ArchiveBuilder()
        let rules = predicates(&builder)
        let fields: [(String, Item)] = [
            ("_NSDestinationEntityName", .text("A")), ("NSIsOptional", .boolean(isOptional)),
            ("NSMinCount", .integer(limits.lowerBound)), ("NSMaxCount", .integer(limits.upperBound)),
            ("NSValidationPredicates", builder.list(rules)), ("NSValidationWarnings", builder.list(warnings)),
        ]
        let relationship = builder.add("NSRelationshipDescription", fields)
        let entity = builder.add(
            "NSEntityDescription",
            [("NSEntityName", .text("A")), ("NSProperties", builder.map([("r", relationship)]))])
        let root = builder.add("NSManagedObjectModel", [("NSEntities", builder.map([("A", entity)]))])
        return try ModelDocument(compiled: builder.archive(root), path: "f")
    }

    @Test func `predicates of a relationship that repeat its limits are no rules, and tighter ones are told (MD-16)`()
        throws
    {
        let differs: Int64 = 5
        let repeated = try compiled(limits: 2...5, warnings: [.integer(1580)]) { builder in
            [
                builder.comparison(.keyPath("count"), atLeast, .integer(2)),
                builder.comparison(.keyPath("@count"), atLeast, .integer(0)),
                builder.comparison(.keyPath("@count"), atMost, .integer(5)),
                builder.comparison(.keyPath("count"), atMost, .integer(9)),
                builder.comparison(.itself, differs, .null),
            ]
        }
        let conversion = try repeated.conversion()
        #expect(conversion.unsupportedFeatures.isEmpty, "\(conversion.unsupported)")
        let relationship = try #require(conversion.entities.first?.relationships.first)
        #expect(relationship.minCount == 2 && relationship.maxCount == 5 && !relationship.isOptional)

        // An optional relationship with a minimum may be empty.
        let optional = try compiled(limits: 2...5, isOptional: true) { builder in
            [
                builder.comparison(.keyPath("count"), atLeast, .integer(0)),
                builder.comparison(.keyPath("count"), atLeast, .integer(1)),
                builder.comparison(.keyPath("@count"), atLeast, .integer(2)),
                builder.comparison(.keyPath("count"), atMost, .integer(5)),
            ]
        }
        let rules = try #require(optional.root.children(.entity).first?.children(.relationship).first)
        #expect(rules["validationPredicates"] == "count >= 1; @count >= 2")

        let tighter = try compiled(limits: 0...0, isOptional: true, warnings: [.text("too few")]) { builder in
            [
                builder.comparison(.keyPath("count"), atLeast, .integer(1)),
                builder.comparison(.keyPath("count"), atMost, .integer(7)),
                builder.comparison(.keyPath("count"), atLeast, .integer(0), ("NSNegate", .boolean(true))),
                builder.comparison(.itself, differs, .null), builder.add("NSCompoundPredicate", []), .null,
            ]
        }
        let element = try #require(tighter.root.children(.entity).first?.children(.relationship).first)
        #expect(
            element["validationPredicates"]
                == "count >= 1; count <= 7; count >=[…] 0; SELF != nil; NSCompoundPredicate; ?")
        #expect(element["validationWarnings"] == "too few")
        #expect(try tighter.conversion().unsupportedFeatures == [.validationRules])
        #expect(try ModelDocument(xml: tighter.xml()) == tighter)
    }

    @Test func `a predicate that names bytes is told with their length, however many name them`() throws {
        var builder = ArchiveBuilder()
        let bytes = builder.add(.data([UInt8](repeating: 7, count: 5_000)))
        let predicate = builder.comparison(.itself, equal, bytes)
        let predicates = [Item](repeating: predicate, count: 2_000)
        let document = try compiled([("n", .binary, predicates)], builder)
        let attribute = try #require(document.root.children(.entity).first?.children(.attribute).first)

        let kept = try #require(attribute["validationPredicates"])
        #expect(kept.hasPrefix("SELF == the bytes of length 5000; SELF == ") && kept.utf8.count < 15_000)
    }

    @Test func `of long predicates and messages, and of very many, only a beginning is kept`() throws {
        var builder = ArchiveBuilder()
        let text = builder.add(.text(String(repeating: "x", count: 20_000)))
        let predicates = (0..<200).map { _ in builder.comparison(.itself, equal, text) }
        let document = try compiled(
            [("n", .string, predicates)], builder, warnings: [Item](repeating: text, count: 200))
        let attribute = try #require(document.root.children(.entity).first?.children(.attribute).first)

        for word in ["validationPredicates", "validationWarnings"] {
            let kept = try #require(attribute[word])
            #expect(kept.utf8.count < 15_000 && kept.contains("xxx…"), "\(word): \(kept.utf8.count)")
        }
    }
}

extension ArchiveBuilder {
    /// The left side of a comparison.
    enum Side {
        case itself
        case keyPath(String)
        /// An expression of another class.
        case other(String)
    }

    /// Adds a decimal number of at most 64 bits; returns a reference to it.
    mutating func decimal(_ number: Decimal) -> Item {
        var digits = NSDecimalNumber(decimal: number.magnitude.significand).uint64Value
        var bytes: [UInt8] = []
        for _ in 0..<8 {
            bytes += [UInt8(truncatingIfNeeded: digits), UInt8(truncatingIfNeeded: digits >> 8)]
            digits >>= 16
        }
        return add(
            "NSDecimalNumberPlaceholder",
            [
                ("NS.exponent", .integer(Int64(number.exponent))), ("NS.length", .integer(4)),
                ("NS.negative", .boolean(number.isSignMinus)), ("NS.compact", .boolean(false)),
                ("NS.mantissa.bo", .integer(1)), ("NS.mantissa", .data(bytes)),
            ])
    }

    /// Adds a comparison of an operator's kind with a constant; returns a reference to it.
    mutating func comparison(_ side: Side, _ kind: Int64, _ constant: Item, _ field: (String, Item)? = nil) -> Item {
        let itself = add("NSSelfExpression", [("NSExpressionType", .integer(1))])
        let left: Item
        switch side {
        case .itself: left = itself
        case .other(let name): left = add(name, [])
        case .keyPath(let path):
            let specifier = add("NSKeyPathSpecifierExpression", [("NSKeyPath", add(.text(path)))])
            left = add(
                "NSKeyPathExpression",
                [
                    ("NSExpressionType", .integer(3)), ("NSOperand", itself), ("NSArguments", list([specifier])),
                    ("NSSelectorName", add(.text("valueForKeyPath:"))),
                ])
        }
        let value: Item = if case .reference = constant { constant } else { add(constant) }
        let right = add("NSConstantValueExpression", [("NSExpressionType", .integer(0)), ("NSConstantValue", value)])
        let plain: [(String, Item)] = [
            ("NSOperatorType", .integer(kind)), ("NSModifier", .integer(0)),
            kind == 6 ? ("NSFlags", .integer(0)) : ("NSOptions", .integer(0)), ("NSNegate", .boolean(false)),
        ]
        let operation = add(
            kind == 6 ? "NSMatchingPredicateOperator" : "NSComparisonPredicateOperator",
            plain.filter { $0.0 != field?.0 } + [field].compactMap(\.self))
        return add(
            "NSComparisonPredicate",
            [("NSLeftExpression", left), ("NSRightExpression", right), ("NSPredicateOperator", operation)])
    }
}
