// Predicates of Foundation as conditions of fetches: `evaluate` on objects in memory is the oracle.

import Espalier
import Foundation
import TestSupport
import Testing

@Suite struct TypedPredicateTests {
    /// The places where a fetch and `evaluate` differ.
    static func disagreements(_ predicate: Predicate<Record>, in shop: RecordShop) throws -> [String] {
        let condition = try FetchPredicate(predicate)
        var found: [String] = []
        for (name, context) in shop.contexts {
            let all = try context.fetch(FetchRequest<Record>())
            let expected = try all.filter { try predicate.evaluate($0) }
            let fetched = try context.fetch(FetchRequest<Record>(condition))
            let count = try context.count(for: FetchRequest<Record>(condition))
            guard Set(fetched) != Set(expected) || fetched.count != expected.count || count != expected.count else {
                continue
            }
            let wrong = Set(fetched).symmetricDifference(expected).map { "\($0.title.debugDescription) \($0.year)" }
            found.append("\(name): \(wrong) of \(expected.count), \(condition)")
        }
        return found
    }

    /// Predicates with each expression that `#Predicate` can make on Linux.
    private static func predicates(of shop: RecordShop) -> [Predicate<Record>] {
        let (one, text, list) = (1, "e", [0, 2, 5])
        let (tricky, words, noText) = ("\n", ["a", "Nina"], String?.none)
        let (day, code) = (
            Date(timeIntervalSinceReferenceDate: 2), UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
        )
        let (numbers, table, cover) = (1...3, ["a": 1], Data([1]))
        let (float, decimal, isNarrow) = (Float(0.2), Decimal(0.25), true)
        return logic(one, list, isNarrow) + texts(text, tricky, words, noText)
            + numbersAndDates(
                one, numbers, day, float, decimal, code, cover, table) + optionals(one, text, .disc, .tape)
            + lists(one, text) + rarities(list, 1..<3)
    }

    private static func logic(_ one: Int, _ list: [Int], _ isNarrow: Bool) -> [Predicate<Record>] {
        [
            #Predicate { $0.year == one }, #Predicate { $0.year != one }, #Predicate { one < $0.year },
            #Predicate { $0.year > 0 && $0.year <= 3 || $0.isLive }, #Predicate { !$0.isLive },
            #Predicate { $0.isLive == false }, #Predicate { $0.isLive == ($0.year > 1) },
            #Predicate { ($0.year > 1) != $0.isLive }, #Predicate { list.contains($0.year) },
            #Predicate { _ in true }, #Predicate { $0.year == 1 ? $0.isLive : $0.small > 0 },
            #Predicate { ($0.year > 1 ? $0.year : $0.small == 0 ? 4 : 5) > 3 },
            #Predicate { if isNarrow { $0.year == 2 } else { true } }, #Predicate { $0.year >= -1 },
            #Predicate { ($0.isMono ?? $0.isLive) == true }, #Predicate { $0.isMono == true },
            #Predicate { $0.isMono != false }, #Predicate { $0.isMono == nil },
        ]
    }

    private static func texts(
        _ text: String, _ tricky: String, _ texts: [String], _ noText: String?
    ) -> [Predicate<Record>] {
        [
            #Predicate { $0.title == text }, #Predicate { $0.title.contains(text) },
            #Predicate { $0.title.contains(tricky) }, #Predicate { $0.title.contains("👨") },
            #Predicate { $0.title.contains("x\u{323}") }, #Predicate { $0.title.starts(with: "x") },
            #Predicate { $0.title.starts(with: "Ni") }, #Predicate { $0.title.starts(with: text) },
            #Predicate { $0.title.contains("") }, #Predicate { $0.title.isEmpty }, #Predicate { !$0.title.isEmpty },
            #Predicate { $0.title.count > 1 }, #Predicate { $0.title.count == 1 }, #Predicate { $0.title < "N" },
            #Predicate { $0.title >= text }, #Predicate { texts.contains($0.title) },
            #Predicate { record in texts.contains { record.title.starts(with: $0) } },
            #Predicate { record in texts.allSatisfy { !record.title.contains($0) } },
            #Predicate { "Nina e a".contains($0.title) }, #Predicate { "Nina".starts(with: $0.title) },
            #Predicate { $0.note == noText }, #Predicate { $0.note == $0.singer?.name },
            #Predicate { ($0.note ?? "a") == "a" },
            #Predicate { ($0.note ?? $0.title).contains("a") }, #Predicate { $0.note?.contains("a") == true },
            #Predicate { $0.note?.contains("a") != true }, #Predicate { $0.note?.isEmpty ?? true },
        ]
    }

    private static func numbersAndDates(
        _ one: Int, _ numbers: ClosedRange<Int>, _ day: Date, _ float: Float, _ decimal: Decimal,
        _ code: UUID, _ cover: Data, _ table: [String: Int]
    ) -> [Predicate<Record>] {
        [
            #Predicate { numbers.contains($0.year) }, #Predicate { (1..<3).contains($0.year) },
            #Predicate { (1...one).contains($0.year) }, #Predicate { $0.year + one > 3 },
            #Predicate { ($0.year - 2) * 3 == 3 }, #Predicate { -$0.year > 0 }, #Predicate { $0.year / 2 == -1 },
            #Predicate { $0.year / 2 == 0 }, #Predicate { $0.year % 2 == -1 }, #Predicate { $0.small == 1 },
            #Predicate { $0.small + 1 > 1 }, #Predicate { $0.price == decimal }, #Predicate { $0.price * 2 > 0.5 },
            #Predicate { $0.weight == 0 }, #Predicate { $0.weight / 2 < 0.3 }, #Predicate { $0.weight * 1e10 > 1e305 },
            #Predicate { $0.gain == 0.1 }, #Predicate { $0.gain + $0.gain == float }, #Predicate { $0.gain * 3 > 0.3 },
            #Predicate { $0.weight == $0.weight }, #Predicate { $0.weight != $0.weight },
            #Predicate { $0.released == day }, #Predicate { ($0.released ?? day) < day },
            #Predicate { $0.released.flatMap { $0 > day } == true }, #Predicate { $0.code == code },
            #Predicate { $0.cover == cover }, #Predicate { $0.cover != nil }, #Predicate { table["a"] == $0.stars },
            #Predicate { $0.year == table["b", default: 3] }, #Predicate { $0.loudness == 1.5 },
            #Predicate { $0.stars == $0.singer?.born }, #Predicate { $0.year == [3, 2, 5].min() ?? 0 },
        ]
    }

    private static func optionals(_ one: Int, _ text: String, _ disc: Format, _ tape: Format) -> [Predicate<Record>] {
        [
            #Predicate { $0.stars == nil }, #Predicate { ($0.stars ?? 0) > 1 }, #Predicate { ($0.stars ?? 2) == 2 },
            #Predicate { $0.stars.flatMap { $0 + 1 } == 3 }, #Predicate { $0.stars.flatMap { _ in 4 } == 4 },
            #Predicate { $0.stars.flatMap { _ in 4 } == nil }, #Predicate { $0.singer == nil },
            #Predicate { $0.singer != nil },
            #Predicate { $0.singer?.name == text }, #Predicate { $0.singer?.name != text },
            #Predicate { $0.singer?.name.starts(with: "N") == true }, #Predicate { $0.singer?.born == one },
            #Predicate { $0.singer?.born == nil }, #Predicate { ($0.singer?.born ?? 2) > 1 },
            #Predicate { $0.singer?.home?.name == "a" }, #Predicate { $0.singer?.home?.size == nil },
            #Predicate { $0.singer?.rival?.home?.size == one }, #Predicate { $0.singer?.rival == nil },
            #Predicate { $0.singer?.rival == $0.singer }, #Predicate { $0.format == tape },
            #Predicate { $0.format != disc }, #Predicate { $0.format < disc }, #Predicate { disc <= $0.format },
            #Predicate { $0.format.rawValue == "vinyl" }, #Predicate { $0.spare == tape },
            #Predicate { $0.spare == nil },
            #Predicate { $0 is BoxSet }, #Predicate { !($0 is BoxSet) && $0.year > 1 },
            #Predicate { ($0.singer?.name ?? $0.title) == text },
        ]
    }

    private static func lists(_ one: Int, _ text: String) -> [Predicate<Record>] {
        [
            #Predicate { $0.songs.isEmpty }, #Predicate { $0.songs.count > 1 }, #Predicate { $0.guests.isEmpty },
            #Predicate { $0.guests.count == 1 }, #Predicate { $0.songs.contains { $0.length > 3 } },
            #Predicate { !$0.songs.contains { $0.length > 3 } }, #Predicate { $0.songs.allSatisfy { $0.length > 1 } },
            #Predicate { $0.songs.contains { $0.length > 2 && $0.name.contains(text) } },
            #Predicate { record in record.songs.contains { $0.length == record.year } },
            #Predicate { record in record.songs.allSatisfy { $0.length < record.year } },
            #Predicate { $0.songs.filter { $0.length > 1 }.count == 2 },
            #Predicate { $0.songs.filter { $0.length > 1 }.isEmpty },
            #Predicate { $0.songs.filter { $0.length > 1 }.contains { $0.name == text } },
            #Predicate { $0.songs.filter { $0.length > 1 }.allSatisfy { $0.length < 4 } },
            #Predicate { $0.songs.first == nil }, #Predicate { $0.songs.last != nil },
            #Predicate { $0.guests.contains { $0.home?.name == "a" } },
            #Predicate { $0.guests.contains { $0.records.contains { $0.year > 4 } } },
            #Predicate { $0.guests.contains { $0.born == nil } },
            #Predicate { $0.guests.allSatisfy { $0.born != nil } },
            #Predicate { $0.singer?.records.count == 2 }, #Predicate { ($0.singer?.records.count ?? 0) > 1 },
            #Predicate { $0.singer?.records.contains { $0.isLive } == true },
            #Predicate { $0.singer?.records.allSatisfy { $0.year > 0 } ?? false },
            #Predicate { $0.songs.count + $0.guests.count > 3 },
        ]
    }

    /// Regular expressions, parts of constants, and casts; some casts have no syntax without a warning.
    private static func rarities(_ list: [Int], _ part: Range<Int>) -> [Predicate<Record>] {
        let twice = #Expression<Record, Int> { $0.year * 2 }
        return [
            #Predicate { $0.title.contains(#/[Nn]i/#) }, #Predicate { $0.title.contains(#/^a/#) },
            #Predicate { !$0.title.contains(#/s{2}/#) }, #Predicate { $0.year == list[1] },
            #Predicate { list[0..<2].contains($0.year) }, #Predicate { list[part].contains($0.year) },
            #Predicate { $0.year == list.max() ?? 0 }, #Predicate { $0.year < list.min() ?? 0 },
            Predicate<Record> { record in
                PredicateExpressions.build_Conjunction(
                    lhs: PredicateExpressions.build_NotEqual(
                        lhs: PredicateExpressions.build_KeyPath(root: record, keyPath: \.stars),
                        rhs: PredicateExpressions.build_NilLiteral()),
                    rhs: PredicateExpressions.build_Comparison(
                        lhs: PredicateExpressions.build_ForcedUnwrap(
                            PredicateExpressions.build_KeyPath(root: record, keyPath: \.stars)),
                        rhs: PredicateExpressions.build_Arg(1), op: .greaterThan))
            },
            Predicate<Record> { record in
                PredicateExpressions.build_Comparison(
                    lhs: PredicateExpressions.build_evaluate(ConstantExpression(twice), record),
                    rhs: PredicateExpressions.build_Arg(4), op: .greaterThan)
            },
            Predicate<Record> { record in
                PredicateExpressions.build_Comparison(
                    lhs: PredicateExpressions.ForceCast<_, Int>(
                        PredicateExpressions.build_KeyPath(root: record, keyPath: \.year)),
                    rhs: PredicateExpressions.build_Arg(1), op: .greaterThan)
            },
            Predicate<Record> { record in
                PredicateExpressions.build_KeyPath(
                    root: PredicateExpressions.ForceCast<_, Record>(record), keyPath: \.isLive)
            },
            Predicate<Record> { record in
                PredicateExpressions.build_Comparison(
                    lhs: PredicateExpressions.build_NilCoalesce(
                        lhs: PredicateExpressions.ConditionalCast<_, Int>(
                            PredicateExpressions.build_KeyPath(root: record, keyPath: \.stars)),
                        rhs: PredicateExpressions.build_Arg(0)),
                    rhs: PredicateExpressions.build_Arg(1), op: .greaterThan)
            },
            Predicate<Record> { record in
                PredicateExpressions.TypeCheck<_, Int>(
                    PredicateExpressions.build_KeyPath(root: record, keyPath: \.stars))
            },
        ]
    }

    @Test func `every kind of expression that is translated is in a predicate here (PR-18)`() throws {
        var handled: Set<String> = []
        let folder = Checkout.root.appending(path: "Sources/Espalier/Queries")
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: #/extension PredicateExpressions\.(\w+): TranslatableExpression/#) {
                handled.insert(String(match.1))
            }
        }
        var tested: Set<String> = []
        try withTemporaryFolder { folder in
            for predicate in Self.predicates(of: try RecordShop(count: 1, seed: 1, in: folder)) {
                let name = String(reflecting: type(of: predicate.expression))
                for match in name.matches(of: #/PredicateExpressions\.(\w+)/#) { tested.insert(String(match.1)) }
            }
        }
        #expect(handled.count > 35, "the sources of the translation were not found")
        #expect(handled.subtracting(tested).sorted() == [])
    }

    @Test func `members of an array have an index, as in Swift`() throws {
        let container = try PersistentContainer(inMemoryFor: [Ballot.self])
        defer { withExtendedLifetime(container) {} }
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let ballots = (0..<4).map { _ in Ballot(context: context) }
        ballots[0].seconds = [ballots[2], ballots[1]]
        ballots[1].seconds = [ballots[2]]
        ballots[2].seconds = [ballots[3], ballots[2]]
        let predicates: [Predicate<Ballot>] = [
            #Predicate { $0.seconds.count > 1 && $0.seconds[0] != $0.seconds[1] },
            #Predicate { $0.seconds.count > 1 && $0.seconds[1] == $0 },
        ]
        for isSaved in [false, true] {
            if isSaved { try context.save() }
            for (position, predicate) in predicates.enumerated() {
                let found = try context.fetch(FetchRequest<Ballot>(predicate: predicate))
                let expected = try ballots.filter { try predicate.evaluate($0) }
                #expect(Set(found) == Set(expected) && !found.isEmpty, "predicate \(position), saved \(isSaved)")
            }
        }
    }

    @Test(arguments: [UInt64(1), 2])
    func `a fetch finds the objects for which evaluate is true, saved in a file, in memory, and unsaved`(
        _ seed: UInt64
    ) throws {
        try withTemporaryFolder { folder in
            let shop = try RecordShop(count: 60, seed: seed, in: folder)
            for (position, predicate) in Self.predicates(of: shop).enumerated() {
                let wrong = try Self.disagreements(predicate, in: shop)
                #expect(wrong.isEmpty, "predicate \(position), seed \(seed): \(wrong.joined(separator: "\n"))")
            }
        }
    }

    /// Predicates for the records of a singer.
    private static func records(of id: ObjectID, _ ref: Ref<Singer>, _ ids: [ObjectID]) -> [Predicate<Record>] {
        [
            #Predicate { $0.singer?.objectID == id }, #Predicate { $0.singer?.ref == ref },
            #Predicate { $0.singer.flatMap { ids.contains($0.objectID) } == true },
        ]
    }

    private static func guested(by id: ObjectID) -> Predicate<Record> {
        #Predicate { $0.guests.contains { $0.objectID == id } }
    }

    private func checkObjects(in context: ManagedObjectContext, _ name: String) throws {
        let singers = try context.fetch(FetchRequest<Singer>())
        let singer = try #require(singers.first { !$0.records.isEmpty })
        let records = Set(singer.records)
        for predicate in Self.records(of: singer.objectID, singer.ref, [singer.objectID]) {
            let found = try context.fetch(FetchRequest<Record>(predicate: predicate))
            #expect(Set(found) == records, "\(name)")
            #expect(!found.isEmpty)
        }
        let found = try context.fetch(FetchRequest<Record>(predicate: Self.guested(by: singer.objectID)))
        let expected = try context.fetch(FetchRequest<Record>()).filter { $0.guests.contains(singer) }
        #expect(Set(found) == Set(expected), "\(name)")
    }

    @Test func `objects are constants by ID and reference`() throws {
        try withTemporaryFolder { folder in
            for (name, context) in try RecordShop(count: 30, seed: 3, in: folder).contexts {
                try checkObjects(in: context, name)
            }
        }
    }

    @Test func `an expression that a predicate evaluates is translated with it`() throws {
        let twice = #Expression<Record, Int> { $0.year * 2 }
        let reused = Predicate<Record> {
            PredicateExpressions.build_Comparison(
                lhs: PredicateExpressions.build_evaluate(ConstantExpression(twice), $0),
                rhs: PredicateExpressions.build_Arg(4), op: .greaterThan)
        }
        #expect("\(try FetchPredicate(reused))" == "year * 2 > 4")
        try withTemporaryFolder { folder in
            let shop = try RecordShop(count: 30, seed: 3, in: folder)
            #expect(try Self.disagreements(reused, in: shop) == [])
        }
    }

    @Test func `a predicate that another one evaluates is refused by its name, and joined as a condition`() throws {
        let recent = #Predicate<Record> { $0.year > 1 }
        let nested = Predicate<Record> {
            PredicateExpressions.build_Conjunction(
                lhs: EvaluatedPredicate(predicate: recent, input: $0),
                rhs: PredicateExpressions.build_KeyPath(root: $0, keyPath: \.isLive))
        }

        let error = #expect(throws: FetchPredicateError.self) { try FetchPredicate(nested) }

        #expect("\(error as Any)".contains("an expression of type EvaluatedPredicate"), "\(error as Any)")
        #expect("\(error as Any)".contains("FetchPredicate.and and .or"))
        #expect(error?.place?.hasSuffix(".swift:\(#line - 4)") == true)
        let live = #Predicate<Record> { $0.isLive }
        let joined = FetchPredicate.and([try FetchPredicate(recent), try FetchPredicate(live)])
        try withTemporaryFolder { folder in
            for (name, context) in try RecordShop(count: 30, seed: 3, in: folder).contexts {
                let found = try context.fetch(FetchRequest<Record>(joined))
                let expected = try context.fetch(FetchRequest<Record>()).filter { try nested.evaluate($0) }
                #expect(Set(found) == Set(expected) && !found.isEmpty, "\(name)")
            }
        }
    }
}

/// A predicate within a predicate, an expression that Foundation has on Apple's systems only.
private struct EvaluatedPredicate<Input: StandardPredicateExpression<Record>>: StandardPredicateExpression {
    let predicate: Predicate<Record>
    let input: Input

    init(predicate: Predicate<Record>, input: Input) { (self.predicate, self.input) = (predicate, input) }
    init(from decoder: any Decoder) throws { throw CocoaError(.coderInvalidValue) }
    func encode(to encoder: any Encoder) throws { throw CocoaError(.coderInvalidValue) }
    func evaluate(_ bindings: PredicateBindings) throws -> Bool { try predicate.evaluate(input.evaluate(bindings)) }
}

/// An expression as a constant of a predicate; Foundation's own constants must be Codable, which it is not on Linux.
private struct ConstantExpression<Input, Value>: StandardPredicateExpression {
    let expression: Expression<Input, Value>

    init(_ expression: Expression<Input, Value>) { self.expression = expression }
    init(from decoder: any Decoder) throws { throw CocoaError(.coderInvalidValue) }
    func encode(to encoder: any Encoder) throws { throw CocoaError(.coderInvalidValue) }
    func evaluate(_ bindings: PredicateBindings) throws -> Expression<Input, Value> { expression }
}
