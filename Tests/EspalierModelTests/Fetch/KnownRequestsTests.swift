// Requests that are made again: which of them are resolved once, which each time, and that a kept form is the one that
// the request has without the table.
//
// `ESPALIER_KNOWN_REQUESTS` is the number of random requests.

import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct KnownRequestsTests {
    private let library: MusicLibrary
    private let requests: KnownRequests

    init() throws {
        library = try MusicLibrary()
        requests = KnownRequests(library.model)
    }

    private func album(_ predicate: FetchPredicate?, sort: [SortKey] = []) -> FetchTerms {
        FetchTerms(entityName: "Album", predicate: predicate, sortKeys: sort)
    }

    private func resolve(_ terms: FetchTerms) throws -> ResolvedTerms { try #require(try requests.resolve(terms)) }

    private func comparison(
        _ name: String, _ operation: FetchPredicate.Comparison.Operator, _ value: AttributeValue
    ) -> FetchPredicate {
        .comparison(.init(.keyPath(FetchKeyPath([name])), operation, .value(value)))
    }

    /// The constant on the right of a condition that is one comparison.
    private func constant(_ resolved: ResolvedTerms) throws -> AttributeValue {
        guard case .comparison(let comparison)? = resolved.predicate?.root, case .value(let value) = comparison.right
        else { throw Failure.noConstant }
        return value
    }

    private enum Failure: Error { case noConstant }

    /// The bits of a value of which equal ones can have several.
    private func bits(_ value: AttributeValue) -> [UInt64] {
        switch value {
        case .double(let number): [number.bitPattern]
        case .float(let number): [UInt64(number.bitPattern)]
        case .date(let date): [date.timeIntervalSinceReferenceDate.bitPattern]
        case .decimal(let number): [UInt64(bitPattern: Int64(number.exponent))]
        case .string(let text): text.utf8.map { UInt64($0) }
        default: []
        }
    }

    @Test func `the form of a request that is made again is kept, made anew or not, with arguments or not`() throws {
        let order = [SortKey("title")]
        let format = "year > 1960 AND title BEGINSWITH 'A'"
        let kept = album(try FetchPredicate(format: format), sort: order)
        #expect(try !resolve(kept).isRepeated)
        let first = try resolve(kept)

        let others = [
            kept, album(try FetchPredicate(format: format), sort: order),
            album(try FetchPredicate(format: "year > %@ AND title BEGINSWITH %@", 1960, "A"), sort: order),
            album(
                .and([
                    comparison("year", .greaterThan, .integer(1960)), comparison("title", .beginsWith, .string("A")),
                ]), sort: order),
        ]
        for terms in others {
            let again = try resolve(terms)
            #expect(again.isRepeated && again.predicate?.identity == first.predicate?.identity, "\(terms)")
        }
        let ordered = album(nil, sort: order)
        #expect(try [resolve(ordered), resolve(ordered), resolve(ordered)].map(\.isRepeated) == [false, true, true])
    }

    @Test func `requests that are made once leave no form, and those that are made again stay beside them`() throws {
        let again = album(comparison("year", .greaterThan, .integer(1)))
        _ = try (resolve(again), resolve(again))
        for number in 0..<1000 {
            let once = try resolve(album(comparison("year", .lessThan, .integer(Int64(number)))))
            #expect(!once.isRepeated, "\(number)")
        }
        #expect(try resolve(again).isRepeated)
    }

    private static let pairs: [(String, AttributeValue, AttributeValue)] = [
        ("rating", .double(0), .double(-0.0)), ("weight", .float(-0.0), .float(0)),
        ("title", .string("caf\u{E9}"), .string("cafe\u{301}")), ("title", .string("\u{212A}"), .string("K")),
        ("title", .string("e\u{327}\u{301}"), .string("e\u{301}\u{327}")),
        (
            "released", .date(Date(timeIntervalSinceReferenceDate: 0)),
            .date(Date(timeIntervalSinceReferenceDate: -0.0))
        ),
    ]

    @Test func `constants that are equal and have other bits stay as they were written`() throws {
        for (name, one, other) in Self.pairs {
            #expect(one == other && bits(one) != bits(other), "\(name)")
            for value in [one, one, one, other, one, other, other, other, one] {
                let resolved = try resolve(album(comparison(name, .notEqual, value)))
                #expect(try bits(constant(resolved)) == bits(value), "\(name) of \(value)")
            }
        }
    }

    @Test func `a request whose form depends on the moment, is large or has a pattern is resolved each time`() throws {
        let numbers = FetchExpression.list((Int64(0)..<300).map { FetchExpression.value(.integer($0)) })
        let path = FetchExpression.keyPath(FetchKeyPath(["year"]))
        let site = try #require(URL(string: "https://example.org/a"))
        let price = SortKey(expression: try FetchExpression(format: "price * 2"))
        for terms in [
            album(try FetchPredicate(format: "released < now()")),
            album(try FetchPredicate(format: "NOT (year > 1 AND released + 60 < now())")),
            album(try FetchPredicate(format: "title MATCHES 'A.*'")), album(comparison("site", .notEqual, .uri(site))),
            album(.comparison(.init(path, .in, numbers))),
            album(comparison("title", .notEqual, .string(String(repeating: "long ", count: 1000)))),
            album(comparison("year", .greaterThan, .integer(1)), sort: [price]),
        ] {
            // All at once, because an address can be that of a later form.
            let resolved = try (0..<4).map { _ in try resolve(terms) }
            #expect(resolved.allSatisfy { !$0.isRepeated }, "\(terms)")
            #expect(Set(resolved.map { $0.predicate?.identity }).count == 4, "\(terms)")
        }
    }

    @Test func `an object that a URI names is refused as long as its store is unknown, and then found`() throws {
        let store = UUID()
        let uri = FetchExpression.value(.string("x-espalier://\(store.uuidString)/Band/p7"))
        let object = FetchExpression.function("castObject:toType:", [uri, .value(.string("NSManagedObjectID"))])
        let terms = album(.comparison(.init(.keyPath(FetchKeyPath(["artist"])), .notEqual, object)))
        for _ in 0..<3 { #expect(throws: FetchPredicateError.self) { try requests.resolve(terms) } }

        let id = ObjectID(entityName: "Band", storeIdentifier: store, key: 7)

        for _ in 0..<3 { #expect(try constant(resolve(terms)) == .objectID(id)) }
    }

    @Test func `a request that does not fit is refused each time, also beside one that fits`() throws {
        let template = try FetchPredicate(format: "title BEGINSWITH $NAME")
        let wrong = album(try FetchPredicate(format: "titel BEGINSWITH 'A'"))
        for name in ["A", "B", "A", "A", "B", "B"] {
            for terms in [wrong, album(template), album(nil, sort: [SortKey("titel")])] {
                #expect(throws: FetchPredicateError.self, "\(terms)") { try requests.resolve(terms) }
            }
            let bound = album(try template.withSubstitutionVariables(["NAME": name]))
            #expect(try constant(resolve(bound)) == .string(name))
        }
        let unknown = try requests.resolve(FetchTerms(entityName: "Albun", predicate: template))
        #expect(unknown.map(\.isRepeated) == nil)
    }

    /// More orders than places, so that several share one.
    @Test func `each order of one condition has its own form`() throws {
        let names = ["title", "year", "rating", "weight", "price", "released"]
        var orders: [[SortKey]] = []
        for (first, second) in names.flatMap({ first in names.map { (first, $0) } }) where first != second {
            orders.append([SortKey(first), SortKey(second)])
            orders.append([SortKey(first, ascending: false), SortKey(second)])
            orders.append([SortKey(first, options: .caseInsensitive)])
        }
        let condition = comparison("year", .greaterThan, .integer(1960))
        for _ in 0..<2 {
            for order in orders {
                let terms = album(condition, sort: order)
                for resolved in try [resolve(terms), resolve(terms)] {
                    #expect(resolved.sort.map(\.source) == order, "\(terms)")
                }
            }
        }
    }

    @Test func `requests at random have the answers that they have without the table, and many are kept`() throws {
        let seed = testSeed(default: 131_720)
        print("ESPALIER_SEED=\(seed)")
        var random = RandomPredicates(seed: seed)
        let entity = try #require(library.model.entity(named: "Album"))
        let full = try library.object(
            "Album", ["title": .string("Abbey Road"), "year": .integer(1969), "rating": .double(4.5)], key: 10)
        let band = try library.object("Band", ["name": .string("The Beatles")], key: 20)
        let track = try library.object("Track", ["milliseconds": .integer(200_000)], key: 30)
        full.links = ["artist": [band], "tracks": [track]]
        let empty = try library.object("Album", key: 11)
        var pool = (0..<40).map { _ in random.condition(depth: 2) }
        var repeatedCount = 0
        for step in 0..<campaignCount("ESPALIER_KNOWN_REQUESTS", default: 400) {
            let place = random.number(0...pool.count - 1)
            switch random.number(0...5) {
            case 0: pool[place] = .not(pool[place])
            case 1: pool[place] = random.condition(depth: 2)
            // The same condition, made anew.
            case 2: pool[place] = try FetchPredicate(format: pool[place].description)
            default: break
            }
            let resolved = try resolve(album(pool[place]))
            if resolved.isRepeated { repeatedCount += 1 }
            let alone = try ResolvedPredicate(pool[place], for: entity, in: library.model)
            for object in [full, empty] {
                let holds = resolved.predicate?.evaluate(on: object)
                #expect(holds == alone.evaluate(on: object), "seed \(seed), step \(step): \(pool[place])")
            }
        }
        #expect(repeatedCount > 20, "seed \(seed): \(repeatedCount) requests were known")
    }
}
