// New objects that a save merges into rows, or that are gone, seen from child contexts and undone: children find the
// row in their place or nothing, and an undo never takes away the row.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct MergedTreeTests {
    /// The way in which a save resolves a constraint.
    enum Way: CaseIterable {
        case declaredMerge, declaredKeep, objectTrump, storeTrump, ownMerge, ownKeep

        var keeps: Bool { [.declaredKeep, .storeTrump, .ownKeep].contains(self) }

        func set(_ context: ManagedObjectContext) {
            context.constraintActions =
                switch self {
                case .declaredMerge: GuestList.mergesAll
                case .declaredKeep: GuestList.keepsAll
                default: [:]
                }
            switch self {
            case .declaredMerge, .declaredKeep: break
            case .objectTrump: context.mergePolicy = .objectTrump
            case .storeTrump: context.mergePolicy = .storeTrump
            case .ownMerge, .ownKeep:
                let answer: ConstraintResolution = self == .ownKeep ? .keep : .merge()
                context.mergePolicy = MergePolicy({ _, _ in MergeResolution(.objectTrump) }) { _, _ in answer }
            }
        }
    }

    private static let new: [String: AttributeValue] = ["name": .string("Ada"), "note": .string("new")]

    private func list(_ kind: StoreKind, _ way: Way) throws -> (list: GuestList, stored: ObjectID) {
        let list = try GuestList(kind)
        let id = try list.store("Guest", ["name": .string("Ada"), "note": .string("old"), "rank": .integer(9)])
        way.set(list.context)
        return (list, id)
    }

    @Test(arguments: StoreKind.allCases, Way.allCases)
    func `children find the row in the place of the object that the root has merged into it`(
        _ kind: StoreKind, _ way: Way
    ) throws {
        for depth in 1...2 {
            for isKnown in [false, true] {
                let (list, id) = try list(kind, way)
                var contexts = [list.context]
                for _ in 0..<depth { contexts.append(ManagedObjectContext(parent: contexts[contexts.count - 1])) }
                let child = contexts[depth]
                let kept = isKnown ? try contexts.map { try $0.existingObject(with: id) } : []
                kept.forEach { _ = $0.guestText }
                let new = try list.make("Guest", Self.new, in: child)
                let gift = try list.make("Gift", in: child)
                let club = try list.make("Club", in: child)
                try gift.relate("guest", to: new)
                try club.add([new], toRelationshipNamed: "members")
                for context in contexts.reversed() { try context.save() }
                try list.check()

                let expected = way.keeps ? "Ada, none, old, 9" : "Ada, none, new, 9"
                for context in contexts {
                    context.processPendingChanges()
                    let guests = try context.fetch(FetchRequest<ManagedObject>(entityName: "Guest"))
                    #expect(guests.map(\.objectID) == [id] && guests.first?.guestText == expected)
                    let gift = try context.existingObject(with: gift.objectID)
                    let club = try context.existingObject(with: club.objectID)
                    #expect(try gift.ids("guest") == [id] && club.ids("members") == [id])
                    #expect(try guests.first?.ids("gifts") == [gift.objectID])
                    #expect(!context.hasChanges)
                }
                // The tree goes on as if nothing had been merged.
                try child.existingObject(with: id).setValue(.string("later"), forKey: "note")
                try gift.relate("guest", to: nil)
                for context in contexts.reversed() { try context.save() }
                try list.check()
                let other = list.newContext()
                let stored = try other.existingObject(with: id)
                #expect(try stored[attribute: "note"] == .string("later") && stored.ids("gifts").isEmpty)
                withExtendedLifetime((kept, contexts)) {}
            }
        }
    }

    @Test(arguments: StoreKind.allCases, Way.allCases)
    func `an object that has changed in a child leads to the row into which the root has merged its destination`(
        _ kind: StoreKind, _ way: Way
    ) throws {
        let (list, id) = try list(kind, way)
        let (root, child) = (list.context, ManagedObjectContext(parent: list.context))
        let new = try list.make("Guest", Self.new, in: child)
        let gift = try list.make("Gift", in: child)
        try gift.relate("guest", to: new)
        try child.save()
        // The child reads what the root is about to save, and changes it.
        _ = try child.fetch(FetchRequest<ManagedObject>(entityName: "Gift"))
        try gift.setValue(.integer(7), forKey: "number")

        try root.save()
        child.processPendingChanges()

        #expect(try gift.ids("guest") == [id])
        for context in [child, root] { try context.save() }
        try list.check()
        let other = list.newContext()
        let stored = try other.existingObject(with: gift.objectID)
        #expect(try stored.ids("guest") == [id] && stored[attribute: "number"] == .integer(7))
    }

    @Test(arguments: StoreKind.allCases, Way.allCases)
    func `undoing an insertion that was merged leaves the row, and takes back what else was done`(
        _ kind: StoreKind, _ way: Way
    ) throws {
        for isKnown in [false, true] {
            for hasEvents in [false, true] {
                let (list, id) = try list(kind, way)
                let context = list.context
                let (club, city) = try (list.store("Club"), list.store("City"))
                context.undoManager = UndoStack()
                let kept = isKnown ? try context.existingObject(with: id) : nil
                _ = kept?.guestText
                let new = try list.make("Guest", Self.new)
                if hasEvents { context.processPendingChanges() }
                let gift = try list.make("Gift")
                try gift.relate("guest", to: new)
                try new.add([context.existingObject(with: club)], toRelationshipNamed: "clubs")
                try context.existingObject(with: city).add([new], toRelationshipNamed: "guests")
                if hasEvents { context.processPendingChanges() }
                try context.save()
                let merged = try context.existingObject(with: id)
                let text = merged.guestText
                let cities = way.keeps ? [] : [city]
                #expect(try merged.ids("city") == cities && merged.ids("clubs") == [club])
                // A change after the save is one like any other.
                try merged.setValue(.string("later"), forKey: "note")
                context.processPendingChanges()
                try context.undo()
                #expect(merged.guestText == text)
                try context.redo()
                #expect(merged[attribute: "note"] == .string("later"))
                try context.undo()
                while context.undoManager?.canUndo == true { try context.undo() }
                #expect(!merged.isDeleted && merged.guestText == text && gift.isDeleted)
                #expect(try merged.ids("gifts").isEmpty && merged.ids("city") == cities)
                #expect(try merged.ids("clubs") == [club])
                try list.save()
                let other = list.newContext()
                let guests = try other.fetch(FetchRequest<ManagedObject>(entityName: "Guest"))
                #expect(guests.map(\.objectID) == [id] && guests.first?.guestText == text)
                while context.undoManager?.canRedo == true { try context.redo() }
                try list.save()
                #expect(try merged.ids("city") == cities && merged.ids("clubs") == [club])
                #expect(try merged.ids("gifts").count == 1 && merged[attribute: "note"] == .string("later"))
                withExtendedLifetime(kept) {}
            }
        }
    }

    /// The context that deletes an object which is new in the root.
    enum Deleter: CaseIterable { case root, child, sibling }

    @Test(arguments: StoreKind.allCases, Deleter.allCases)
    func `no one-way relationship of a child leads to a new object that its parent does not have any more`(
        _ kind: StoreKind, _ deleter: Deleter
    ) throws {
        let list = try GuestList(kind)
        let id = try list.store("Guest", ["name": .string("Ada")])
        let root = list.context
        let (child, sibling) = (ManagedObjectContext(parent: root), ManagedObjectContext(parent: root))
        let host = try list.make("Guest", ["name": .string("Eva")])
        // A child's read gives the new object its permanent ID.
        _ = try child.fetch(FetchRequest<ManagedObject>(entityName: "Guest"))
        let guests = try [root, child, sibling].map { try $0.existingObject(with: id) }
        try guests[1].relate("host", to: child.existingObject(with: host.objectID))
        try child.save()
        for (context, guest) in zip([root, child, sibling], guests) {
            context.processPendingChanges()
            #expect(try guest.ids("host") == [host.objectID])
        }

        let context =
            switch deleter {
            case .root: root
            case .child: child
            case .sibling: sibling
            }
        try context.delete(context.existingObject(with: host.objectID))
        if context !== root { try context.save() }

        for (context, guest) in zip([root, child, sibling], guests) {
            context.processPendingChanges()
            #expect(try guest.ids("host").isEmpty, "\(context === child ? "child" : "another")")
        }
        try guests[1].setValue(.string("later"), forKey: "note")
        try child.save()
        try list.save()
        sibling.processPendingChanges()
        #expect(guests[2][attribute: "note"] == .string("later"))
    }
}
