// Conflicts, and the answers of merge policies, by key path: the values that there are by name, with the types of the
// properties.

import Espalier
import Foundation
import Synchronization
import TestSupport
import Testing

/// The conflicts that a policy was asked about.
private final class Asked: Sendable {
    private let conflicts = Mutex<[MergeConflict]>([])
    var all: [MergeConflict] { conflicts.withLock { $0 } }
    func note(_ conflict: MergeConflict) { conflicts.withLock { $0.append(conflict) } }
}

/// A leaf and some others, with two contexts that have read all of them.
private struct Book {
    let container: PersistentContainer
    let mine: ManagedObjectContext
    let theirs: ManagedObjectContext

    init(_ container: PersistentContainer, _ base: Values) throws {
        self.container = container
        let maker = ManagedObjectContext(container.persistentStoreCoordinator)
        for number in 0..<4 { Leaf(context: maker).number = number }
        try maker.save()
        base.set(on: try Self.leaves(in: maker))
        try maker.save()
        mine = ManagedObjectContext(container.persistentStoreCoordinator)
        theirs = ManagedObjectContext(container.persistentStoreCoordinator)
    }

    /// The leaves of a context in the order in which they were made.
    static func leaves(in context: ManagedObjectContext) throws -> [Leaf] {
        try context.fetch(FetchRequest<Leaf>(sortBy: [TypedSortKey(\.number)]))
    }

    /// Changes the first leaf on both sides, and saves the other one's changes.
    func change(mine: Values, theirs: Values) throws {
        let (here, there) = (try Self.leaves(in: self.mine), try Self.leaves(in: self.theirs))
        mine.set(on: here)
        theirs.set(on: there)
        try self.theirs.save()
    }
}

/// Values of a leaf; destinations are positions among the leaves.
private struct Values: Equatable {
    var visits: Int
    var note: String?
    var mood: Mood
    var former: Mood?
    var place: Shelf
    var next: Int?
    var marks: Set<Int>
    var order: [Int]

    /// Values that differ from those of every other `variant` from 0 to 2.
    init(variant: Int, _ chance: inout SeededGenerator) {
        visits = Int.random(in: 0..<100, using: &chance) * 3 + variant
        // One side may have no value, but not two of them.
        func missing(_ chance: inout SeededGenerator) -> Bool {
            variant == 1 && Bool.random(using: &chance)
        }
        note = missing(&chance) ? nil : "note \(visits)"
        mood = Mood.allCases[variant]
        former = missing(&chance) ? nil : Mood.allCases[variant]
        place = Shelf(number: visits, rows: [variant])
        next = missing(&chance) ? nil : variant
        marks = [variant, 3]
        order = [[0, 1, 2], [2, 0, 1], [1, 2, 0]][variant]
    }

    func set(on leaves: [Leaf]) {
        let leaf = leaves[0]
        (leaf.visits, leaf.note, leaf.mood, leaf.former, leaf.place) = (visits, note, mood, former, place)
        leaf.next = next.map { leaves[$0] }
        leaf.marks = ToMany(marks.map { leaves[$0] })
        leaf.order = order.map { leaves[$0] }
    }
}

@Suite struct TypedConflictTests {
    private static func containers(_ body: (PersistentContainer) throws -> Void) throws {
        try body(PersistentContainer(model: ManagedObjectModel(for: [Leaf.self]), stores: [.inMemory]))
        try withTemporaryFolder { folder in
            try body(PersistentContainer(for: [Leaf.self], at: folder.appending(path: "leaves.espalier").path))
        }
    }

    @Test func `a policy reads the values of both sides by key path, with their types (MP-06)`() throws {
        let seed = testSeed(default: 18)
        var chance = SeededGenerator(seed: seed)
        for _ in 0..<6 {
            try Self.containers { container in
                let base = Values(variant: 0, &chance)
                let (mine, theirs) = (Values(variant: 1, &chance), Values(variant: 2, &chance))
                let book = try Book(container, base)
                let asked = Asked()
                book.mine.mergePolicy = MergePolicy { conflict, _ in
                    asked.note(conflict)
                    return MergeResolution(.objectTrump)
                }
                try book.change(mine: mine, theirs: theirs)
                try book.mine.save()

                let refs = try Book.leaves(in: book.mine).map(\.ref)
                let conflict = try #require(asked.all.first { $0.object == refs[0].id }, "seed \(seed)")
                func expect<Value: Equatable>(_ sides: MergeSides<Value>?, _ value: (Values) -> Value?) {
                    let isRight =
                        sides?.base == value(base) && sides?.mine == value(mine) && sides?.stored == value(theirs)
                    #expect(sides != nil && isRight, "seed \(seed): \(String(describing: sides))")
                }
                expect(try conflict[\Leaf.visits]) { $0.visits }
                expect(try conflict[\Leaf.note]) { $0.note }
                expect(try conflict[\Leaf.mood]) { $0.mood }
                expect(try conflict[\Leaf.former]) { $0.former }
                expect(try conflict[\Leaf.place]) { $0.place }
                expect(try conflict[\Leaf.next]) { $0.next.map { refs[$0] } }
                expect(try conflict[\Leaf.order]) { $0.order.map { refs[$0] } }
                let marks = try #require(try conflict[\Leaf.marks])
                #expect(marks.mine.map(Set.init) == Set(mine.marks.map { refs[$0] }), "seed \(seed)")
                #expect(marks.stored.map(Set.init) == Set(theirs.marks.map { refs[$0] }), "seed \(seed)")
                // By name there are the same values; what is equal, and what is no property, is in no conflict.
                #expect(conflict["visits"]?.mine == .integer(Int64(mine.visits)))
                #expect(try conflict[\Leaf.title] == nil && conflict[\Leaf.half] == nil)
                try container.close()
            }
        }
    }

    @Test func `a value that is none of the property's type is no value by key path, and is there by name`() throws {
        var chance = SeededGenerator(seed: 1)
        let variants = (0..<3).map { Values(variant: $0, &chance) }
        try Self.containers { container in
            let book = try Book(container, variants[0])
            let asked = Asked()
            book.mine.mergePolicy = MergePolicy { conflict, _ in
                asked.note(conflict)
                return MergeResolution(.objectTrump)
            }
            let mine = try Book.leaves(in: book.mine)[0]
            mine.mood = .gone
            try Book.leaves(in: book.theirs)[0].setValue(.string("odd"), forKey: "mood")
            try book.theirs.save()
            try book.mine.save()

            let conflict = try #require(asked.all.first)
            #expect(try conflict[\Leaf.mood] == nil && conflict["mood"]?.stored == .string("odd"))
            try container.close()
        }
    }

    @Test func `a policy answers by key path, with values of the properties' types (MP-06)`() throws {
        var chance = SeededGenerator(seed: 1)
        let variants = (0..<3).map { Values(variant: $0, &chance) }
        try Self.containers { container in
            let book = try Book(container, variants[0])
            let refs = try Book.leaves(in: book.mine).map(\.ref)
            book.mine.mergePolicy = MergePolicy { conflict, _ in
                var resolution = MergeResolution(.rollback)
                if let sides = try conflict[\Leaf.visits], let base = sides.base, let mine = sides.mine,
                    let stored = sides.stored
                {
                    resolution.set(\Leaf.visits, to: mine + stored - base)
                }
                resolution.set(\Leaf.note, to: nil)
                resolution.set(\Leaf.mood, to: .wild)
                resolution.set(\Leaf.former, to: .calm)
                resolution[\Leaf.place] = .mine
                resolution.set(\Leaf.next, to: refs[3])
                resolution.set(\Leaf.marks, to: [refs[3]])
                resolution.set(\Leaf.order, to: [refs[2], refs[0]])
                return resolution
            }
            try book.change(mine: variants[1], theirs: variants[2])

            try book.mine.save()

            let reader = ManagedObjectContext(container.persistentStoreCoordinator)
            let leaves = try Book.leaves(in: reader)
            #expect(leaves[0].visits == variants[1].visits + variants[2].visits - variants[0].visits)
            #expect(leaves[0].note == nil && leaves[0].mood == .wild && leaves[0].former == .calm)
            #expect(leaves[0].place == variants[1].place && leaves[0].next === leaves[3])
            #expect(Set(leaves[0].marks) == [leaves[3]] && Array(leaves[0].order) == [leaves[2], leaves[0]])
            #expect(!reader.hasChanges)
            try container.close()
        }
    }

    @Test func `a choice for what is no property is refused by name, and the context stays as it was`() throws {
        var chance = SeededGenerator(seed: 1)
        let variants = (0..<3).map { Values(variant: $0, &chance) }
        try Self.containers { container in
            let book = try Book(container, variants[0])
            book.mine.mergePolicy = MergePolicy { _, _ in
                var resolution = MergeResolution(.objectTrump)
                resolution[\Leaf.half] = .mine
                return resolution
            }
            try book.change(mine: variants[1], theirs: variants[2])

            let error = #expect(throws: ContextError.self) { try book.mine.save() }

            guard case .refusedResolutions(let refused)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refused.map(\.property) == ["\(\Leaf.half)"] && book.mine.hasChanges)
            book.mine.mergePolicy = .objectTrump
            try book.mine.save()
            #expect(try Book.leaves(in: book.mine)[0].visits == variants[1].visits)
            try container.close()
        }
    }
}

enum Mood: String, CaseIterable { case calm, wild, gone }

struct Shelf: Codable, Equatable {
    var number: Int
    var rows: [Int]
}

@Entity final class Leaf: ManagedObject {
    var title: String = ""
    var number: Int = 0
    var visits: Int = 0
    var note: String?
    var mood: Mood = .calm
    var former: Mood?
    var place: Shelf = Shelf(number: 0, rows: [])
    var next: Leaf?
    var marks: ToMany<Leaf>
    var order: [Leaf]
    var half: Int { visits / 2 }
}
