// Groups and distinct rows by whole composites, whose parts are equal in several forms: 0 and -0, NaN of any bits, text
// in two normalizations, decimals with and without zeros at their end, URIs with and without a base.
//
// The oracle compares each row with each other one. `ESPALIER_COMPOSITE_ROUNDS` makes more rounds.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct CompositeGroupTests {
    private static func model(isIndexed: Bool) throws -> ManagedObjectModel {
        let place = AttributeDescription(
            "place", .composite,
            elements: [
                AttributeDescription("x", .double), AttributeDescription("label", .string),
                AttributeDescription("day", .date), AttributeDescription("price", .decimal),
                AttributeDescription("page", .uri),
            ])
        return try ManagedObjectModel(entities: [
            EntityDescription(
                "Thing",
                attributes: [
                    place, AttributeDescription("name", .string), AttributeDescription("number", .integer32),
                ],
                indexes: isIndexed
                    ? [
                        .init("byPlace", on: [.init("place.x"), .init("place.label"), .init("name")]),
                        .init("byName", on: [.init("name"), .init("number")]),
                    ] : [])
        ])
    }

    private static func place(_ random: inout SeededGenerator) -> AttributeValue {
        if random.oneIn(8) { return .null }
        var parts: [String: AttributeValue] = [:]
        let doubles: [Double] = [0, -0.0, 1, .nan, -Double.nan, Double(nan: 7, signaling: false)]
        if !random.oneIn(4) { parts["x"] = random.oneIn(6) ? .null : .double(random.pick(doubles)) }
        if random.oneIn(2) { parts["label"] = .string(random.pick(["é", "e\u{301}", "K", "\u{212A}"])) }
        if random.oneIn(6) { parts["day"] = .date(Date(timeIntervalSinceReferenceDate: random.pick([0, -0.0, .nan]))) }
        if random.oneIn(6) {
            let fifty = Decimal(sign: .plus, exponent: -1, significand: 50)
            parts["price"] = .decimal(random.pick([Decimal(5), fifty, Decimal.nan]))
        }
        if random.oneIn(6), let base = URL(string: "https://example.org/a/"),
            let page = URL(string: random.pick(["https://example.org/a/b", "b"]), relativeTo: base)
        {
            parts["page"] = .uri(page)
        }
        return .composite(parts)
    }

    /// The groups of rows that are equal in all values, in the order of these, and the number of rows in each.
    private static func groups(_ rows: [[AttributeValue]]) -> [[AttributeValue]] {
        var groups: [(key: [AttributeValue], count: Int)] = []
        for row in rows {
            let position = groups.firstIndex { group in
                zip(group.key, row).allSatisfy { $0.compare($1) == .orderedSame }
            }
            if let position { groups[position].count += 1 } else { groups.append((row, 1)) }
        }
        groups.sort { left, right in
            for (left, right) in zip(left.key, right.key) {
                let order = left.compare(right)
                if order != .orderedSame { return order == .orderedAscending }
            }
            return false
        }
        return groups.map { $0.key + [.integer(Int64($0.count))] }
    }

    private static func isSame(_ left: [[AttributeValue]], _ right: [[AttributeValue]]) -> Bool {
        left.count == right.count
            && zip(left, right).allSatisfy { left, right in
                left.count == right.count && zip(left, right).allSatisfy { $0.compare($1) == .orderedSame }
            }
    }

    @Test func `rows with equal composites are one group with indexes, without them and in memory (FR-12, FR-13)`()
        throws
    {
        let seed = testSeed(default: 131_200)
        print("ESPALIER_SEED=\(seed)")
        for round in 0..<UInt64(campaignCount("ESPALIER_COMPOSITE_ROUNDS", default: 2)) {
            var random = SeededGenerator(seed: seed + round)
            let rows = (0..<50).map { number -> [AttributeValue] in
                // Two rows are surely equal although the value of one of their elements is no number.
                let place = number < 48 ? Self.place(&random) : .composite(["price": .decimal(.nan)])
                return [place, .string(random.pick(["é", "e\u{301}", "b"])), .integer(Int64(number))]
            }
            let wanted = Array(rows.dropFirst(10))
            let places = Self.groups(wanted.map { [$0[0]] })
            #expect(places.count < 40, "seed \(seed + round): no two rows are equal")
            for (kind, isIndexed) in [(StoreKind.treeInMemory, true), (.treeInMemory, false), (.memory, true)] {
                let fixture = try StoreFixture(kind, Self.model(isIndexed: isIndexed))
                var request = SaveRequest()
                for row in rows {
                    request.insertions.append(
                        try fixture.insertion("Thing", ["place": row[0], "name": row[1], "number": row[2]]))
                }
                let left = Set(try fixture.store.save(request).inserted.prefix(10).map(\.id))
                func answer(
                    _ columns: [FetchColumn], by groups: [FetchColumn] = [], distinct: Bool = false
                ) throws -> [[AttributeValue]] {
                    var fetch = try CoveringModel.fetch(fixture, columns, by: groups, distinct: distinct)
                    // A context leaves out the rows that it has changed.
                    fetch.excluded = left
                    return try fixture.store.values(fetch).rows().map(\.values)
                }
                let place = "seed \(seed + round), \(kind), \(isIndexed)"

                let counted = try answer(["place", .count()], by: ["place"])
                #expect(Self.isSame(counted, places), "\(place): \(counted.count) of \(places.count) groups")
                let pairs = try answer(["place", "name", .count()], by: ["place", "name"])
                #expect(Self.isSame(pairs, Self.groups(wanted.map { [$0[0], $0[1]] })), "\(place)")
                let distinct = try answer(["place"], distinct: true)
                #expect(Self.isSame(distinct, places.map { [$0[0]] }), "\(place): \(distinct.count) distinct")
                let parts = try answer(["place"], by: ["place", "name"], distinct: true)
                #expect(Self.isSame(parts, places.map { [$0[0]] }), "\(place): \(parts.count) distinct places")
            }
        }
    }
}
