// Batch updates whose expressions are compiled for the bytes of rows: each gives the values, refusals and errors of an
// evaluation, which a store in memory does for every row.
//
// `ESPALIER_COMPILED_EXPRESSIONS` draws more expressions, and `ESPALIER_COMPILED_UPDATES` more updates.

import EspalierModel
import Foundation
import TestSupport
import Testing

@testable import EspalierStore

@Suite struct CompiledAssignmentsTests {
    private static let numberNames = ["small", "middle", "large", "real", "single", "added"]

    /// Samples with attributes of all types that numbers become; `added` is missing in a former version.
    private static func model(hasAdded: Bool = true) throws -> ManagedObjectModel {
        let added = AttributeDescription("added", .integer64, isOptional: false, defaultValue: .integer(70_000))
        return try ManagedObjectModel(entities: [
            EntityDescription(
                "Sample",
                attributes: [
                    AttributeDescription("small", .integer16),
                    AttributeDescription("middle", .integer32, isOptional: false),
                    AttributeDescription(
                        "large", .integer64, validationRules: [ValidationRule(.minimum(.integer(-1_000_000_000)))]),
                    AttributeDescription(
                        "real", .double, validationRules: [ValidationRule(.maximum(.double(1_000_000_000_000)))]),
                    AttributeDescription("single", .float), AttributeDescription("price", .decimal),
                    AttributeDescription("when", .date), AttributeDescription("flag", .boolean),
                    AttributeDescription("text", .string), AttributeDescription("code", .uuid),
                ] + (hasAdded ? [added] : []),
                relationships: [RelationshipDescription("next", to: "Sample")])
        ])
    }

    /// Values of all attributes; a few of them are null.
    private static func values(
        of entity: Entity, _ random: inout SeededGenerator, isSmall: Bool = false
    ) -> [String: AttributeValue] {
        var values: [String: AttributeValue] = [:]
        for attribute in entity.attributes where !attribute.isOptional || !random.oneIn(6) {
            let small: AttributeValue? =
                switch attribute.type {
                case .integer16, .integer32, .integer64: .integer(Int64(random.next() % 300) - 20)
                case .double: .double(Double(random.next() % 64) / 4 - 2)
                case .float: .float(Float(random.next() % 64) / 4 - 2)
                // Without zeros at its end, which are no part of a stored decimal.
                case .decimal: .decimal(Decimal(random.next() % 9 + 1))
                default: nil
                }
            let isFree = !isSmall && attribute.type != .decimal
            values[attribute.name] = (isFree ? nil : small) ?? random.value(of: attribute.type)
        }
        return values
    }

    /// An expression of numbers, most of which are compiled.
    private static func expression(_ random: inout SeededGenerator, depth: Int = 0) -> FetchExpression {
        guard depth < 3, !random.oneIn(depth == 0 ? 8 : 3) else {
            if random.oneIn(30) { return .keyPath(FetchKeyPath(["price"])) }
            if random.oneIn(2) { return .keyPath(FetchKeyPath([random.pick(numberNames)])) }
            return .value(
                random.pick([
                    .integer(0), .integer(1), .integer(-1), .integer(3), .integer(40_000), .integer(.max), .double(0.5),
                    .double(-0.0), .double(2), .double(1e300), .float(0.25), .null, .integer(2), .integer(7),
                ]))
        }
        if depth > 0, random.oneIn(40) { return .function("abs", [expression(&random, depth: depth + 1)]) }
        let function = random.pick([
            "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "modulus:by:", "add:to:", "raise:toPower:",
        ])
        return .function(function, [expression(&random, depth: depth + 1), expression(&random, depth: depth + 1)])
    }

    // MARK: Values

    @Test func `a compiled value is the evaluated one, whatever the expression and the row are`() throws {
        let seed = testSeed(default: 310_500)
        print("ESPALIER_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        let model = try Self.model()
        let numbering = try BTreeStore.inMemory(model: model).catalog.numbering
        let entity = model.entities[0]
        let id = ObjectID(storeTag: numbering.storeTag, entityTag: entity.tag, key: 1)
        var (compiledCount, evaluatedCount) = (0, 0)
        for _ in 0..<campaignCount("ESPALIER_COMPILED_EXPRESSIONS", default: 3000) {
            let (name, expression) = (random.pick(Self.numberNames), Self.expression(&random))
            // A constant that the attribute cannot have makes no assignment.
            guard let assignment = try? ResolvedAssignment(name, expression, for: entity, in: model),
                case .attribute(let slot) = assignment.property
            else { continue }
            var rules: BatchRules? = random.oneIn(3) ? nil : BatchRules()
            let made = CompiledAssignments([(slot, assignment)], of: entity, &rules, numbering)
            var compiled = try #require(made)
            for round in 0..<4 {
                let values = Self.values(of: entity, &random, isSmall: round > 1)
                let destination: ObjectID? = random.oneIn(2) ? id : nil
                let row = RowEncoder(numbering: numbering).row(
                    of: entity.index, version: random.next() % 300,
                    RowValues(entity.attributes.map { values[$0.name] ?? .null }, [destination]))
                let subject = OwnBytes(
                    bytes: row, reader: RowReader(numbering: numbering), entity: entity, objectID: id)
                let found = row.withRawSpan { row -> AttributeValue? in
                    guard let offsets = compiled.offsets(of: row) else {
                        Issue.record("seed \(seed): a row of the layout is refused")
                        return nil
                    }
                    return compiled.value(0, row, offsets)
                }
                guard let found else {
                    evaluatedCount += 1
                    continue
                }
                compiledCount += 1
                let expected = try assignment.value(for: subject).get()
                // As text, because 0 and -0 are equal.
                #expect("\(found)" == "\(expected)", "seed \(seed): \(name) = \(expression) of \(values)")
                let broken = rules?.broken(found, at: slot, of: entity) ?? []
                #expect(broken.isEmpty, "seed \(seed): \(name) = \(found)")
            }
        }
        #expect(compiledCount * 8 > evaluatedCount, "\(compiledCount) values of \(compiledCount + evaluatedCount)")
        #expect(evaluatedCount > 0)
    }

    @Test(arguments: [
        ("small", "small + 1", true), ("large", "middle * 2 - small", true), ("real", "real / 3", true),
        ("large", "modulus:by:(middle, 7)", true), ("single", "single + 0.5", true), ("real", "large ** 2", true),
        ("middle", "small", true), ("large", "4000000000", true), ("real", "nil", true), ("flag", "YES", true),
        ("price", "1.5", true), ("text", "'b'", true), ("text", "uppercase(text)", false), ("when", "when", false),
        ("real", "price + 1", false), ("large", "abs(small)", false),
        ("large", "TERNARY(flag == YES, 1, 2)", false), ("price", "small", false),
        // Broken rules are found by an evaluation.
        ("middle", "nil", false), ("large", "-2000000000", false), ("large", "0 - middle * 1000000000", false),
        // So are values that their attribute does not hold.
        ("small", "middle * 20000", false), ("middle", "real", false),
    ])
    func `common forms are compiled, and others are evaluated`(
        _ name: String, _ format: String, _ isCompiled: Bool
    ) throws {
        let model = try Self.model()
        let numbering = try BTreeStore.inMemory(model: model).catalog.numbering
        let entity = model.entities[0]
        let values: [String: AttributeValue] = [
            "small": .integer(-3), "middle": .integer(5), "large": .integer(4), "real": .double(0.75),
            "single": .float(2), "price": .decimal(2), "flag": .boolean(true), "when": .date(Date()),
            "text": .string("a"),
        ]
        let row = RowEncoder(numbering: numbering).row(
            of: entity.index, version: 1, RowValues(entity.attributes.map { values[$0.name] ?? .null }, [nil]))
        let assignment = try ResolvedAssignment(name, try FetchExpression(format: format), for: entity, in: model)
        guard case .attribute(let slot) = assignment.property else { return }
        var rules: BatchRules? = BatchRules()
        let made = CompiledAssignments([(slot, assignment)], of: entity, &rules, numbering)
        var compiled = try #require(made)

        let found = row.withRawSpan { row -> AttributeValue? in
            guard let offsets = compiled.offsets(of: row) else { return nil }
            return compiled.value(0, row, offsets)
        }

        #expect((found != nil) == isCompiled, "\(String(describing: found))")
    }

    // MARK: Updates

    /// Expressions whose values most rows can have.
    private static let integerFormats = [
        "small + 1", "middle - small", "modulus:by:(middle, 7)", "small", "large + middle", "large * 3", "small / 2",
        "added + 1", "middle * 30000", "nil", "12", "added - large * 2",
    ]
    private static let binaryFormats = [
        "real + 0.5", "real * middle", "small / 4.0", "large", "single - 1", "middle / 0",
        "modulus:by:(real, 3)", "modulus:by:(real, small)", "-0.0", "nil", "single * 2", "real - small",
    ]

    private static let textFormats = ["'x'", "nil", "'a text that is longer than before'", "uppercase(text)", "text"]

    /// The keys of the updated rows, or the rules that they would break.
    private static func outcome(_ command: StoreCommand, _ store: any PersistentStore) throws -> (
        keys: [UInt64], broken: [String]
    ) {
        do throws(StoreError) {
            return (try store.execute(command).ids.map(\.key), [])
        } catch {
            guard case .brokenRules(let rules) = error else { throw error }
            return ([], rules.map { "\($0.row?.key ?? 0) \($0.property) \($0.kind)" })
        }
    }

    /// One or several assignments to different attributes, of which most are compiled.
    private static func assignments(
        _ store: any PersistentStore, _ random: inout SeededGenerator
    ) throws -> [ResolvedAssignment] {
        let entity = try store.entity("Sample")
        let count = random.pick([1, 1, 2, 4])
        let names = (numberNames + ["when", "flag", "price", "text"]).shuffled(using: &random).prefix(count)
        var assignments: [ResolvedAssignment] = []
        for name in names {
            let other: FetchExpression? =
                switch name {
                case "when": try FetchExpression(format: random.pick(["when + small", "nil", "CAST(0, 'date')"]))
                case "flag": try FetchExpression(format: random.pick(["YES", "nil", "flag"]))
                case "price": try FetchExpression(format: random.pick(["price + 1", "1.25", "middle"]))
                case "text": try FetchExpression(format: random.pick(textFormats))
                case _ where random.oneIn(4): nil
                case "real", "single": try FetchExpression(format: random.pick(binaryFormats))
                default: try FetchExpression(format: random.pick(integerFormats))
                }
            let value = other ?? expression(&random)
            // A constant that the attribute cannot have makes no assignment.
            if let assignment = try? ResolvedAssignment(name, value, for: entity, in: store.model) {
                assignments.append(assignment)
            }
        }
        return assignments.isEmpty ? try store.assignments("Sample", ["small": 5]) : assignments
    }

    /// Adds the same random rows to a tree and to a store in memory that has one more attribute, or the same ones.
    private static func add(_ tree: BTreeStore, _ memory: any PersistentStore, _ random: inout SeededGenerator) throws {
        let rows = (0..<12).map { _ in values(of: tree.model.entities[0], &random, isSmall: !random.oneIn(40)) }
        let missing: [String: AttributeValue] = ["added": .integer(70_000)]
        for store in [tree, memory] as [any PersistentStore] {
            let new = try rows.map { try store.newRow("Sample", missing.merging($0) { $1 }) }
            var insertion = try store.insertion("Sample", new)
            insertion.validates = false
            _ = try store.execute(insertion)
        }
    }

    /// A tree of which some rows have an older layout, and a store in memory with the same rows.
    private static func stores(
        _ path: String, _ random: inout SeededGenerator
    ) throws -> (tree: BTreeStore, memory: InMemoryStore) {
        let memory = InMemoryStore(model: try model())
        let former = try BTreeStore.open(path: path, model: try model(hasAdded: false), options: .small)
        try add(former, memory, &random)
        try former.close()
        let tree = try BTreeStore.open(path: path, model: try model(), options: .small)
        try add(tree, memory, &random)
        return (tree, memory)
    }

    @Test func `compiled updates give the rows and errors of evaluated ones, in rows of two layouts`() throws {
        let seed = testSeed(default: 310_900)
        print("ESPALIER_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        var (updatedCount, refusedCount) = (0, 0)
        for round in 0..<campaignCount("ESPALIER_COMPILED_UPDATES", default: 20) {
            try withStorePath { path in
                let (tree, memory) = try Self.stores(path, &random)
                for step in 0..<25 {
                    let start = SeededGenerator(seed: random.next())
                    let condition: String? = random.pick([
                        nil, nil, "small > 10", "real != nil", "modulus:by:(middle, 2) == 0",
                    ])
                    let (validates, chunkCountMax) = (!random.oneIn(4), random.pick([1, 5, 8192]))
                    func outcome(_ store: any PersistentStore) throws -> (keys: [UInt64], broken: [String]) {
                        // Both stores get the same assignments.
                        var random = start
                        let assignments = try Self.assignments(store, &random)
                        var command = StoreCommand(.update(try store.rows("Sample", condition), assignments))
                        (command.returnsIDs, command.validates) = (true, validates)
                        command.chunkCountMax = chunkCountMax
                        return try Self.outcome(command, store)
                    }
                    let place = "seed \(seed), round \(round), step \(step)"

                    let (found, expected) = (try outcome(tree), try outcome(memory))

                    #expect(found.keys == expected.keys, "\(place)")
                    // The tree stops at the end of the first chunk with a row that breaks a rule.
                    #expect(expected.broken.starts(with: found.broken), "\(place): \(found.broken)")
                    #expect(found.broken.isEmpty == expected.broken.isEmpty, "\(place): \(expected.broken)")
                    if chunkCountMax == 8192 { #expect(found.broken == expected.broken, "\(place)") }
                    #expect(try tree.content() == memory.content(), "\(place)")
                    updatedCount += found.keys.count
                    refusedCount += found.broken.isEmpty ? 0 : 1
                }
                #expect(try tree.findings().isEmpty, "seed \(seed), round \(round)")
                try tree.close()
            }
        }
        #expect(updatedCount > 0 && refusedCount > 0, "seed \(seed): \(updatedCount) rows, \(refusedCount) refusals")
    }

    @Test func `rows without room for a value or a version keep all other values and destinations`() throws {
        let tree = try BTreeStore.inMemory(model: try Self.model())
        let memory = InMemoryStore(model: try Self.model())
        var random = SeededGenerator(seed: 5)
        let rows = (0..<40).map { _ in Self.values(of: tree.model.entities[0], &random) }
        for store in [tree, memory] as [any PersistentStore] {
            var command = try store.insertion(
                "Sample", try rows.map { try store.newRow("Sample", $0.merging(["large": .integer(1)]) { $1 }) })
            (command.validates, command.returnsIDs) = (false, true)
            let ids = try store.execute(command).ids
            let sample = try store.entity("Sample")
            for (number, id) in ids.enumerated() {
                let lead = try ResolvedAssignment(
                    "next", .value(.objectID(ids[(number * 7 + 1) % ids.count])), for: sample, in: store.model)
                _ = try store.execute(StoreCommand(.update(.ids([id]), [lead])))
            }
        }
        for format in ["large + 300", "large * 100000", "large * 100000", "nil", "7", "large + 1"] {
            for store in [tree, memory] as [any PersistentStore] {
                let update = try store.assignments("Sample", ["large": try FetchExpression(format: format)])
                #expect(try store.execute(StoreCommand(.update(try store.rows("Sample"), update))).count == 40)
            }
            #expect(try tree.content() == memory.content(), "\(format)")
        }
        let long = String(repeating: "Größe ", count: 800)
        for format in ["'x'", "nil", "'\(long)'", "uppercase(text)", "'short'"] {
            for store in [tree, memory] as [any PersistentStore] {
                let values = [("text", format), ("middle", "middle / 2")]
                let sample = try store.entity("Sample")
                let update = try values.map {
                    try ResolvedAssignment($0, try FetchExpression(format: $1), for: sample, in: store.model)
                }
                #expect(try store.execute(StoreCommand(.update(try store.rows("Sample"), update))).count == 40)
            }
            #expect(try tree.content() == memory.content(), "\(format.prefix(20))")
        }
        // The version needs a second byte.
        for _ in 0..<260 {
            for store in [tree, memory] as [any PersistentStore] {
                let update = try store.assignments("Sample", ["flag": try FetchExpression(format: "YES")])
                _ = try store.execute(StoreCommand(.update(try store.rows("Sample"), update)))
            }
        }
        #expect(try tree.content() == memory.content())
        #expect(try tree.findings().isEmpty)
    }
}
