// Converted attributes over the dimensions of their use: both kinds of stores, files that are opened again, contexts
// that merge, children, sizes from nothing to 30 MB, and texts of several scripts.

import Espalier
import Foundation
import TestSupport
import Testing

@Suite struct ConvertedValueWalkTests {
    /// Calls `body` with a container in memory, and with one in a file and a way to open that again.
    private func withContainers(
        _ body: (PersistentContainer, _ reopened: (PersistentContainer) throws -> PersistentContainer) throws -> Void
    ) throws {
        try AttributeTransformers.register(ColorTransformer(), forName: "Color")
        try body(PersistentContainer(model: ManagedObjectModel(for: [Parcel.self]), stores: [.inMemory])) { $0 }
        try withTemporaryFolder { folder in
            let path = folder.appending(path: "größe.espalier").path
            try body(PersistentContainer(for: [Parcel.self], at: path)) { container in
                try container.close()
                return try PersistentContainer(for: [Parcel.self], at: path)
            }
        }
    }

    private struct Values: Equatable {
        var tags: [String]
        var marks: [String: [Int]]?
        var home: Address
        var color: Color?

        init(_ parcel: Parcel) {
            (tags, marks, home, color) = (parcel.tags, parcel.marks, parcel.home, parcel.color)
        }
    }

    @Test func `a fresh context, a reopened file and a child read what the saved object reads, at every size`() throws {
        let scripts = ["", "a", "Größe", "日本語", "العربية", "e\u{301}", "👩‍👩‍👧", "\u{0}"]
        try withContainers { container, reopened in
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            let parcel = Parcel(context: context)
            var last = Values(parcel)
            for count in [0, 1, 255, 256, 1000, 30_000_000] {
                parcel.tags =
                    count > 1000 ? [String(repeating: "ü", count: count / 2)] : (0..<count).map { scripts[$0 % 8] }
                parcel.marks = count > 1000 ? nil : ["k": Array(0..<count)]
                parcel.home.street = scripts[count % 8]
                parcel.home.zip = count == 0 ? nil : (1 << (count % 62)) - 1
                parcel.color = Color(red: UInt8(truncatingIfNeeded: count), green: 0, blue: 255)
                try context.save()
                last = Values(parcel)

                let fresh = ManagedObjectContext(container.persistentStoreCoordinator)
                let read = try #require(try fresh.fetch(FetchRequest<Parcel>()).first)
                #expect(Values(read) == last, "\(count)")
                let child = ManagedObjectContext(parent: context)
                let draft = try #require(try child.existingObject(with: parcel.objectID) as? Parcel)
                #expect(Values(draft) == last, "\(count)")
            }
            let again = try reopened(container)
            let reader = ManagedObjectContext(again.persistentStoreCoordinator)
            #expect(try reader.fetch(FetchRequest<Parcel>()).map(Values.init) == [last])
            try again.close()
        }
    }

    @Test func `two contexts that change elements and values merge, and a child's save reaches the store`() throws {
        try withContainers { container, reopened in
            let coordinator = container.persistentStoreCoordinator
            let (first, second) = (ManagedObjectContext(coordinator), ManagedObjectContext(coordinator))
            let here = Parcel(context: first)
            try first.save()
            let there = try #require(try second.existingObject(with: here.objectID) as? Parcel)
            here.tags = ["first"]
            there.home.city = "Bergen"
            second.mergePolicy = .objectTrump
            try first.save()
            try second.save()

            #expect(there.tags == ["first"] && there.home.city == "Bergen")
            let child = ManagedObjectContext(parent: second)
            let draft = try #require(try child.existingObject(with: here.objectID) as? Parcel)
            draft.tags.append("child")
            draft.home.place.x = 3
            try child.save()
            #expect(there.tags == ["first", "child"] && there.home.place.x == 3 && there.home.city == "Bergen")
            try second.save()
            let again = try reopened(container)
            let reader = ManagedObjectContext(again.persistentStoreCoordinator)
            let request = FetchRequest<Parcel>(
                try FetchPredicate(format: "home.place.x == 3 AND home.city == 'Bergen' AND work == nil"))
            #expect(try reader.fetch(request).map(\.tags) == [["first", "child"]])
            try again.close()
        }
    }
}
