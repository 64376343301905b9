// The operations of `bench --growth` on kinds of properties and entities that papers do not have.

import BenchKit
import Espalier
import Foundation

extension GrowthCases {
    /// An operation on all labels in memory.
    private static func label(
        _ name: String, work: GrowthCase.Work? = nil,
        _ body: @escaping @Sendable (ManagedObjectContext, [Label]) throws -> Void
    ) -> GrowthCase {
        GrowthCase("labels: " + name, 1, work: work) { store in
            let context = try store.labels().context()
            let labels = try context.fetch(FetchRequest<Label>())
            return { try body(context, labels) }
        }
    }

    /// One change in place of a relationship whose value is a set or an array of all labels.
    private static func whole(
        _ name: String, _ body: @escaping @Sendable (_ owner: Box, _ label: Label) -> Void
    ) -> GrowthCase {
        GrowthCase(
            "labels: " + name, 1, reason: "a set or an array is a value of all members; `ToMany` changes one in O(1)",
            work: .tables
        ) { store in
            let context = try store.labels().context()
            let labels = try context.fetch(FetchRequest<Label>())
            let owner = try found(labels.first?.pile)
            blackHole(owner.pile.count + owner.strip.count)
            let new = Label(context: context)
            return {
                body(owner, new)
                withExtendedLifetime(labels) {}
            }
        }
    }

    static let labels: [GrowthCase] = [
        // Subentities
        label("fetch all of two entities, read an attribute of each") { _, labels in
            for label in labels { blackHole((label as? Sticker)?.glue ?? label.number) }
        },
        GrowthCase("labels: fetch a subentity, half of all", 1) { store in
            let context = try store.labels().context()
            return { for sticker in try context.fetch(FetchRequest<Sticker>()) { blackHole(sticker.glue) } }
        },
        GrowthCase("labels: count of all of two entities", 0) { store in
            let context = try store.labels().context()
            return { blackHole(try context.count(for: FetchRequest<Label>())) }
        },
        GrowthCase("labels: an indexed value of two entities", 0) { store in
            let context = try store.labels().context()
            return {
                let request = FetchRequest<Label>(try FetchPredicate(format: "code == %@", PaperStore.code("L", 7)))
                blackHole(try context.fetch(request).count)
            }
        },
        label("insert of subentities, each, and rollback") { context, labels in
            for _ in labels { Sticker(context: context).glue = 1 }
            context.rollback()
        },
        // Derived attributes
        label("derived attribute, change of what it follows from, and read, each") { context, labels in
            for label in labels {
                label.code += "X"
                blackHole(label.plainCode?.utf8.count)
            }
            context.rollback()
        },
        label("derived count, one member more and read, each") { context, labels in
            for label in labels {
                Label(context: context).box = label.box
                blackHole(label.box?.labelCount)
            }
            context.rollback()
        },
        label("derived attributes, save of all that they follow from") { context, labels in
            for label in labels {
                label.code = label.code.hasSuffix("Y") ? String(label.code.dropLast()) : label.code + "Y"
            }
            try context.save()
        },
        // Composite, Codable and transformable values
        label("composite attribute, change of an element, each") { context, labels in
            for label in labels {
                label.size.width += 1
                blackHole(label.size.height)
            }
            context.rollback()
        },
        label("Codable attribute, change and read, each") { context, labels in
            for label in labels {
                label.tags = ["a", "b"]
                blackHole(label.tags.count)
            }
            context.rollback()
        },
        label("transformable attribute, change and read, each") { context, labels in
            for label in labels {
                label.ink = Ink(red: 1, green: 2)
                blackHole(label.ink?.red)
            }
            context.rollback()
        },
        // Fetched properties
        label("fetched property, each") { _, labels in for label in labels { blackHole(label.box?.found.count) } },
        GrowthCase("labels: fetchedObjects(forKey:) of one, again", 0) { store in
            let context = try store.labels().context()
            let labels = try context.fetch(FetchRequest<Label>())
            let owner = try found(labels.first?.box)
            // The first read makes the request, and the first step from one label leads to the boxes of all.
            let count = try owner.fetchedObjects(forKey: "found").count
            return {
                let again = try owner.fetchedObjects(forKey: "found").count
                guard count > 0, again == count else { throw WrongResult(expected: count, found: again) }
                withExtendedLifetime(labels) {}
            }
        },
        // Sets and arrays
        whole("insertion of one into a set of all") { owner, label in owner.pile.insert(label) },
        whole("removal of one from a set of all") { owner, label in
            owner.pile.insert(label)
            owner.pile.remove(label)
        },
        whole("append of one to an array of all") { owner, label in owner.strip.append(label) },
        label("to-one set whose inverse is a set, each", work: .tables) { context, labels in
            let owner = Box(context: context)
            for label in labels { label.pile = owner }
            context.rollback()
        },
    ]
}
