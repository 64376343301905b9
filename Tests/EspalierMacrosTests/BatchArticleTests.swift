// The article on batch requests is true: this test contains its code line by line, and runs it.

import Espalier
import Foundation
import TestSupport
import Testing

@Entity private final class Station: ManagedObject {
    @Attribute(.unique) var name: String = ""
    var readings: ToMany<Reading>
}

@Entity private final class Reading: ManagedObject {
    @Attribute(.indexed) var year: Int = 0
    var celsius: Double = 0
    var kelvin: Double?
    var kind: Kind = .measured
    @Relationship(inverse: \Station.readings) var station: Station?
}

private enum Kind: String, CaseIterable, AttributeConvertible {
    case measured, estimated
}

@Suite struct BatchArticleTests {
    private func container(_ classes: [ManagedObject.Type] = [Station.self, Reading.self]) throws
        -> PersistentStoreCoordinator
    {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: classes))
        try coordinator.addPersistentStore(.inMemory)
        return coordinator
    }

    @Test func `the code of the article inserts, updates and deletes what it says`() throws {
        let context = ManagedObjectContext(try container())
        let text = "1959 3.5\n1960 4.5\n1961 -2\n"
        let oslo = Station(context: context)
        oslo.name = "Oslo"
        try context.save()

        // Inserting
        var lines = text.split(separator: "\n").makeIterator()
        let station = Ref(oslo)
        let insertion = BatchInsertRequest(Reading.self) { row in
            guard let line = lines.next() else { return true }
            let fields = line.split(separator: " ")
            row.set(\.year, to: Int(fields[0]) ?? 0)
            row.set(\.celsius, to: Double(fields[1]) ?? 0)
            row.set(\.station, to: station)
            return false
        }
        let count = try context.execute(insertion).count

        #expect(count == 3 && oslo.readings.count == 3)

        // Into existing rows
        var stations = BatchInsertRequest(entityName: "Station", objects: [["name": "Oslo"], ["name": "Bergen"]])
        stations.constraintAction = .keep
        try context.execute(stations)

        #expect(try context.fetch(FetchRequest<Station>()).map(\.name).sorted() == ["Bergen", "Oslo"])

        // Updating
        var update = try BatchUpdateRequest(Reading.self, where: #Predicate { $0.year >= 1960 })
        try update.set(\Reading.kind, to: .estimated)
        try update.set(\.kelvin, to: #Expression<Reading, Double> { $0.celsius + 273.15 })
        update.progress = BatchProgress { print($0.completedCount, "rows") }
        try context.execute(update)

        let readings = try context.fetch(FetchRequest<Reading>(sortedBy: [SortKey("year")]))
        #expect(readings.map(\.kind) == [.measured, .estimated, .estimated])
        #expect(readings.map(\.kelvin) == [nil, 277.65, 271.15])

        // Deleting
        try context.delete(Reading.self, where: #Predicate { $0.year < 1960 })
        var coldest = try FetchRequest<Reading>(sortBy: [TypedSortKey(\.celsius)])
        coldest.fetchLimit = 1
        try context.execute(BatchDeleteRequest(coldest))

        #expect(try context.fetch(FetchRequest<Reading>()).map(\.year) == [1960])
    }

    @Test func `every block of code in the article is part of this test`() throws {
        func lines(_ path: String) throws -> [String] {
            try String(contentsOf: Checkout.root.appending(path: path), encoding: .utf8)
                .split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
        }
        let source = try lines("Tests/EspalierMacrosTests/BatchArticleTests.swift").joined(separator: "\n")
        var (block, blocks): ([String]?, [String]) = (nil, [])
        for line in try lines("Sources/Espalier/Espalier.docc/BatchRequests.md") {
            switch (line, block) {
            case ("```swift", _): block = []
            case ("```", let lines?):
                blocks.append(lines.joined(separator: "\n"))
                block = nil
            default: block?.append(line)
            }
        }

        #expect(blocks.count == 4)
        for block in blocks { #expect(source.contains(block), "\(block)") }
    }

    @Test func `properties that are not in the model are refused where they are set (BR-04)`() throws {
        var update = try BatchUpdateRequest(Reading.self)
        let error = #expect(throws: FetchPredicateError.self) { try update.set(\Reading.hasChanges, to: true) }
        #expect(error?.place?.hasSuffix("BatchArticleTests.swift:\(#line - 1)") == true)

        let context = ManagedObjectContext(try container())
        let insertion = BatchInsertRequest(Reading.self) { row in
            row.set(\.hasChanges, to: true)
            return false
        }
        #expect(throws: ContextError.self) { try context.execute(insertion) }
        #expect(try context.count(for: FetchRequest<Reading>()) == 0)
    }
}
