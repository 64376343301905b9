// The regions of 13 countries, as GeoNames has them: imported, and asked for what the lines of their file say as well.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct GeoNamesTests {
    /// A line of the file: the country's code, a dot and the state's, and for a district another dot and its own.
    private struct Line {
        let code: String
        let name: String
        var country: String { String(code.prefix { $0 != "." }) }
        /// The code of the region above.
        var parent: String { code.lastIndex(of: ".").map { String(code[..<$0]) } ?? "" }
        var isDistrict: Bool { code.count { $0 == "." } == 2 }
    }

    private static func lines() throws -> [Line] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "GeoNames/regions.txt")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
            let fields = line.split(separator: "\t")
            try #require(fields.count == 2, "\(line)")
            return Line(code: String(fields[0]), name: String(fields[1]))
        }
    }

    private static func model() throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [
            EntityDescription(
                "Country", attributes: [AttributeDescription("code", .string)],
                relationships: [
                    RelationshipDescription("states", to: "State", inverse: "country", .toMany, deleteRule: .cascade)
                ], uniquenessConstraints: [["code"]]),
            EntityDescription(
                "Region", isAbstract: true,
                attributes: [
                    AttributeDescription("code", .string), AttributeDescription("name", .string, isIndexed: true),
                ], uniquenessConstraints: [["code"]]),
            EntityDescription(
                "State", superentity: "Region",
                relationships: [
                    RelationshipDescription("country", to: "Country", inverse: "states"),
                    RelationshipDescription(
                        "districts", to: "District", inverse: "state", .toMany, deleteRule: .cascade),
                ]),
            EntityDescription(
                "District", superentity: "Region",
                relationships: [RelationshipDescription("state", to: "State", inverse: "districts")]),
        ])
    }

    /// Inserts all lines into the store of a coordinator, level by level.
    private static func insert(_ lines: [Line], _ coordinator: PersistentStoreCoordinator) throws {
        var ids: [String: ObjectID] = [:]
        func add(_ entityName: String, _ codes: [String], _ rows: [[String: any PredicateArgument]]) throws {
            var request = BatchInsertRequest(entityName: entityName, objects: rows)
            request.returnsObjectIDs = true
            let made = try #require(try coordinator.execute(request).objectIDs)
            try #require(made.count == codes.count)
            for (code, id) in zip(codes, made) { ids[code] = id }
        }
        let countries = Set(lines.map(\.country)).sorted()
        try add("Country", countries, countries.map { ["code": $0] })
        for (entityName, relationship, isDistrict) in [("State", "country", false), ("District", "state", true)] {
            let level = lines.filter { $0.isDistrict == isDistrict }
            let rows = try level.map { line -> [String: any PredicateArgument] in
                ["code": line.code, "name": line.name, relationship: try #require(ids[line.parent], "\(line.code)")]
            }
            try add(entityName, level.map(\.code), rows)
        }
    }

    /// The codes of the regions that a request finds, sorted by code unless the request has an order.
    private static func codes(
        _ context: ManagedObjectContext, _ entityName: String, _ format: String, sort: [SortKey] = [SortKey("code")],
        limit: Int = 0, offset: Int = 0
    ) throws -> [String] {
        var request = ValueRequest(
            entityName: entityName, predicate: try FetchPredicate(format: format), columns: ["code"])
        (request.sortKeys, request.fetchLimit, request.fetchOffset) = (sort, limit, offset)
        return try context.fetch(request).map { row in
            if case .string(let code) = row.values[0] { code } else { "" }
        }
    }

    private static func bare(_ text: String) -> String {
        let scalars = text.decomposedStringWithCanonicalMapping.unicodeScalars.filter {
            $0.properties.generalCategory != .nonspacingMark
        }
        return String(scalars).lowercased()
    }

    @Test(arguments: StoreKind.allCases)
    func `the regions of 13 countries are found by what their file says of them`(_ kind: StoreKind) throws {
        let lines = try Self.lines()
        let (states, districts) = (lines.filter { !$0.isDistrict }, lines.filter(\.isDistrict))
        let nameOfState = Dictionary(uniqueKeysWithValues: states.map { ($0.code, $0.name) })
        try withTemporaryFolder { folder in
            let model = try Self.model()
            let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
            let store: any PersistentStore =
                kind == .inMemory
                ? InMemoryStore(model: model)
                : try BTreeStore.open(path: folder.appending(path: "regions").path, model: model)
            coordinator.add(store)
            try Self.insert(lines, coordinator)
            let context = ManagedObjectContext(coordinator)
            // Compares the answer to a request with the lines for which a condition holds.
            func expect(_ entityName: String, _ lines: [Line], _ format: String, _ holds: (Line) -> Bool) throws {
                let expected = lines.filter(holds).map(\.code).sorted()
                #expect(try Self.codes(context, entityName, format) == expected, "\(format)")
                #expect(!expected.isEmpty, "\(format) finds nothing")
            }

            try expect("Region", lines, "TRUEPREDICATE") { _ in true }
            try expect("District", districts, "name BEGINSWITH 'Z'") { $0.name.hasPrefix("Z") }
            try expect("State", states, "name CONTAINS 'ö' OR name CONTAINS 'é'") {
                $0.name.contains("ö") || $0.name.contains("é")
            }
            try expect("Region", lines, "name LIKE '*berg*'") { $0.name.contains("berg") }
            try expect("Region", lines, "name CONTAINS[cd] 'zur'") { Self.bare($0.name).contains("zur") }
            try expect("Region", lines, "code BETWEEN {'CH', 'DK'}") { $0.code >= "CH" && $0.code <= "DK" }
            try expect("District", districts, "name == state.name") { $0.name == nameOfState[$0.parent] }
            try expect("District", districts, "state.country.code IN {'NO', 'IS'} AND NOT name CONTAINS 'a'") {
                ["NO", "IS"].contains($0.country) && !$0.name.contains("a")
            }
            try expect("State", states, "districts.@count > 20") { state in
                districts.count { $0.parent == state.code } > 20
            }
            try expect("State", states, "ANY districts.name BEGINSWITH 'U'") { state in
                districts.contains { $0.parent == state.code && $0.name.hasPrefix("U") }
            }
            try expect("State", states, "districts.@count == 0") { state in
                !districts.contains { $0.parent == state.code }
            }

            let sorted = lines.sorted { ($1.name, $0.code) < ($0.name, $1.code) }.map(\.code)
            let page = try Self.codes(
                context, "Region", "TRUEPREDICATE", sort: [SortKey("name", ascending: false), SortKey("code")],
                limit: 50, offset: 700)
            #expect(page == Array(sorted[700..<750]))
            try Self.expectGroups(districts, context)
            try Self.expectCascade(of: "CH", lines, context)
            if let tree = store as? BTreeStore { #expect(try tree.check().isOK) }
            try store.close()
        }
    }

    /// The numbers of districts and the first and last name by country, most districts first.
    private static func expectGroups(_ districts: [Line], _ context: ManagedObjectContext) throws {
        var request = ValueRequest(
            entityName: "District",
            columns: [
                "state.country.code", .count(as: "districts"), .min("name", as: "first"), .max("name", as: "last"),
            ])
        request.propertiesToGroupBy = ["state.country.code"]
        request.havingPredicate = try FetchPredicate(format: "districts > 60")
        request.sortKeys = [SortKey("districts", ascending: false), SortKey("state.country.code")]
        let groups = Dictionary(grouping: districts, by: \.country).filter { $1.count > 60 }
            .sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
        let expected = groups.map { country, lines -> [AttributeValue] in
            [
                .string(country), .integer(Int64(lines.count)), .string(lines.map(\.name).min() ?? ""),
                .string(lines.map(\.name).max() ?? ""),
            ]
        }
        #expect(try context.fetch(request).map(\.values) == expected && expected.count > 5)
    }

    /// Deletes a country, and expects that its regions and no others go with it.
    private static func expectCascade(of country: String, _ lines: [Line], _ context: ManagedObjectContext) throws {
        let request = FetchRequest<ManagedObject>(
            entityName: "Country", predicate: try FetchPredicate(format: "code == %@", country))
        #expect(try context.execute(BatchDeleteRequest(request)).count == 1)

        let left = lines.filter { $0.country != country }.map(\.code).sorted()
        #expect(try Self.codes(context, "Region", "TRUEPREDICATE") == left && left.count < lines.count)
    }
}
