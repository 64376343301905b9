// Conflicts about unique values, and the answers of merge policies to them, by key path: the values that there are by
// name, with the types of the properties.

import Espalier
import Foundation
import Synchronization
import TestSupport
import Testing

/// The conflicts that a policy was asked about.
private final class AskedConstraints: Sendable {
    private let conflicts = Mutex<[UniquenessConflict]>([])
    var all: [UniquenessConflict] { conflicts.withLock { $0 } }
    func note(_ conflict: UniquenessConflict) { conflicts.withLock { $0.append(conflict) } }
}

@Suite struct TypedConstraintTests {
    /// A stored badge "x" with an owner, and a context whose new badge has the same code; in memory and in a file.
    private static func contested(
        _ body: (ManagedObjectContext, _ stored: Ref<Badge>, _ owner: Ref<Badge>, _ new: Badge) throws -> Void
    ) throws {
        func run(_ container: PersistentContainer) throws {
            let maker = ManagedObjectContext(container.persistentStoreCoordinator)
            let (stored, owner) = (Badge(context: maker), Badge(context: maker))
            (stored.code, stored.rank, stored.color, stored.owner) = ("x", 3, .red, owner)
            owner.code = "owner"
            try maker.save()
            let context = ManagedObjectContext(container.persistentStoreCoordinator)
            let new = Badge(context: context)
            (new.code, new.rank, new.note) = ("x", 7, "new")
            try body(context, stored.ref, owner.ref, new)
            try container.close()
        }
        try run(PersistentContainer(model: ManagedObjectModel(for: [Badge.self]), stores: [.inMemory]))
        try withTemporaryFolder { folder in
            try run(PersistentContainer(for: [Badge.self], at: folder.appending(path: "badges.espalier").path))
        }
    }

    /// A policy that decides about constraints only.
    private static func policy(
        _ answer: @escaping @Sendable (UniquenessConflict) -> ConstraintResolution
    ) -> MergePolicy {
        MergePolicy({ _, _ in MergeResolution(.error) }, constraints: { conflict, _ in answer(conflict) })
    }

    @Test func `a policy reads by key path the values of objects that share unique ones (F-6)`() throws {
        try Self.contested { context, stored, owner, new in
            let asked = AskedConstraints()
            context.mergePolicy = Self.policy { conflict in
                asked.note(conflict)
                return .refuse
            }

            let error = #expect(throws: ContextError.self) { try context.save() }

            guard case .constraints(let told)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            for conflict in [try #require(asked.all.first), try #require(told.first)] {
                #expect(conflict.objects == [new.objectID] && conflict.stored == stored.id)
                let code = try #require(try conflict[\Badge.code])
                #expect(code.shared == "x" && code.objects == ["x"] && code.stored == "x")
                let rank = try #require(try conflict[\Badge.rank])
                #expect(rank.shared == nil && rank.objects == [7] && rank.stored == 3)
                let note = try #require(try conflict[\Badge.note])
                #expect(note.objects == ["new"] && note.stored == nil)
                let color = try #require(try conflict[\Badge.color])
                #expect(color.objects == [nil] && color.stored == .red)
                let destination = try #require(try conflict[\Badge.owner])
                #expect(destination.objects == [nil] && destination.stored == owner)
                #expect(try conflict.isAbout(\Badge.code) && !conflict.isAbout(\Badge.rank))
                #expect(try !conflict.isAbout(\Badge.half) && !conflict.isAbout(\Badge.code, \Badge.rank))
                // By name there are the same values; what is no property is in no conflict.
                #expect(try conflict.storedValues["rank"] == .integer(3) && conflict[\Badge.half] == nil)
            }
        }
    }

    @Test func `a stored value of another type is no value by key path, and is there by name`() throws {
        try Self.contested { context, stored, _, _ in
            let other = ManagedObjectContext(context.persistentStoreCoordinator)
            try other[stored].setValue(.string("odd"), forKey: "color")
            try other.save()
            let asked = AskedConstraints()
            context.mergePolicy = Self.policy { conflict in
                asked.note(conflict)
                return .merging { $0.set(\Badge.color, to: .blue) }
            }

            try context.save()

            let conflict = try #require(asked.all.first)
            #expect(try conflict[\Badge.color] == nil && conflict.storedValues["color"] == .string("odd"))
            #expect(try ManagedObjectContext.values(of: stored, in: context) == "x, 7, new, blue, owner")
        }
    }

    @Test func `a policy answers about unique values by key path, with the types of the properties (F-6)`() throws {
        let answers: [(expected: [String], answer: @Sendable (Ref<Badge>) -> ConstraintResolution)] = [
            (
                ["x, 12, none, blue, x"],
                { stored in
                    .merging { values in
                        values.set(\Badge.rank, to: 12)
                        values.set(\Badge.note, to: nil)
                        values.set(\Badge.color, to: .blue)
                        values.set(\Badge.owner, to: stored)
                    }
                }
            ),
            (
                ["x, 3, none, red, owner", "y, 7, new, none, x"],
                { stored in
                    .changing { values in
                        values.set(\Badge.code, to: "y")
                        values.set(\Badge.owner, to: stored)
                    }
                }
            ),
        ]
        for (expected, answer) in answers {
            try Self.contested { context, stored, _, _ in
                context.mergePolicy = Self.policy { _ in answer(stored) }

                try context.save()

                let reader = ManagedObjectContext(context.persistentStoreCoordinator)
                let badges = try reader.fetch(FetchRequest<Badge>(sortBy: [TypedSortKey(\.code)]))
                #expect(badges.filter { $0.code != "owner" }.map(\.text) == expected)
                #expect(!context.hasChanges)
            }
        }
    }

    @Test func `a value for what is no property is refused by name, and another answer is followed`() throws {
        try Self.contested { context, stored, _, new in
            context.mergePolicy = Self.policy { _ in .changing { $0.set(\Badge.half, to: 5) } }

            let error = #expect(throws: ContextError.self) { try context.save() }

            guard case .refusedResolutions(let refused)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(refused.map(\.property) == ["\(\Badge.half)"])
            #expect(context.insertedObjects == [new] && new.text == "x, 7, new, none, none")
            context.mergePolicy = .objectTrump
            try context.save()
            #expect(new.objectID == stored.id)
        }
    }
}

extension ManagedObjectContext {
    /// The values of a badge that a fresh context reads.
    fileprivate static func values(of badge: Ref<Badge>, in context: ManagedObjectContext) throws -> String {
        let reader = ManagedObjectContext(context.persistentStoreCoordinator)
        return try reader[badge].text
    }
}

enum BadgeColor: String { case red, blue }

@Entity final class Badge: ManagedObject {
    #Unique<Badge>([\.code], onConflict: nil)
    var code: String = ""
    var rank: Int = 0
    var note: String?
    var color: BadgeColor?
    var owner: Badge?
    var half: Int { rank / 2 }
    var text: String {
        "\(code), \(rank), \(note ?? "none"), \(color?.rawValue ?? "none"), \(owner?.code ?? "none")"
    }
}
