// Derived attributes of typed classes (MD-27): what a context shows while it has unsaved changes is what a save stores.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Entity final class Zoo: ManagedObject {
    var name: String = ""
    @Attribute(.indexed, .derived(.canonical(of: \Zoo.name))) var plainName: String?
    @Attribute(.derived(.count(of: \Zoo.pens))) var penCount: Int
    @Attribute(.derived(.sum(of: \Pen.weight, in: \Zoo.pens))) var weight: Int
    var pens: ToMany<Pen>
}

@Entity final class Pen: ManagedObject {
    var title: String = ""
    @Attribute(.derived(.value(of: \Pen.zoo?.plainName))) var zooName: String?
    @Attribute(.indexed, .derived(.count(of: \Pen.animals))) var animalCount: Int
    @Attribute(.derived(.count(of: \Pen.animals, where: "weight >= 100"))) var heavyCount: Int
    @Attribute(.derived(.sum(of: \Animal.weight, in: \Pen.animals))) var weight: Int
    @Attribute(.derived(.maximum(of: \Animal.weight, in: \Pen.animals))) var heaviest: Int?
    @Attribute(.derived(.now)) var changed: Date?
    @Relationship(inverse: \Zoo.pens) var zoo: Zoo?
    @Relationship(deleteRule: .cascade) var animals: OrderedToMany<Animal>
}

@Composite struct Chip {
    var code: String = ""
    var year: Int = 0
}

@Entity final class Animal: ManagedObject {
    #Index<Animal>([\.weight], [\.pen, \.weight], where: "weight >= 100")
    #Index<Animal>([\.name], ignoring: [.caseInsensitive, .diacriticInsensitive])
    #Index<Animal>([\.chip?.code])
    var chip: Chip?
    var name: String = ""
    var weight: Int = 0
    @Relationship(inverse: \Pen.animals) var pen: Pen?
}

/// The derived values that a context must show of a zoo, computed from the plain values that it shows.
private struct ZooOracle {
    let context: ManagedObjectContext

    private func expect<Value: Equatable>(_ found: Value, _ expected: Value, _ place: () -> String, _ name: String) {
        if found != expected { Issue.record("\(place()): \(name) is \(found), not \(expected)") }
    }

    func check(_ place: () -> String) throws {
        for pen in try context.fetch(FetchRequest<Pen>()) {
            let weights = pen.animals.map(\.weight)
            expect(pen.animalCount, weights.count, place, "animalCount")
            expect(pen.heavyCount, weights.count { $0 >= 100 }, place, "heavyCount")
            expect(pen.weight, weights.reduce(0, +), place, "weight")
            expect(pen.heaviest, weights.max(), place, "heaviest")
            expect(pen.zooName, pen.zoo.map { $0.name.lowercased() }, place, "zooName")
            expect(pen[attribute: "weight"], .integer(Int64(weights.reduce(0, +))), place, "weight by name")
            let same = try FetchRequest<Pen>(
                FetchPredicate(
                    format: "animalCount == %@ AND weight == %@ AND heavyCount == %@", weights.count,
                    weights.reduce(0, +), weights.count { $0 >= 100 }))
            if try !context.fetch(same).contains(pen) { Issue.record("\(place()): the fetch misses \(pen.objectID)") }
        }
        for zoo in try context.fetch(FetchRequest<Zoo>()) {
            expect(zoo.penCount, zoo.pens.count, place, "penCount")
            expect(zoo.weight, zoo.pens.flatMap(\.animals).map(\.weight).reduce(0, +), place, "zoo.weight")
            expect(zoo.plainName, zoo.name.lowercased(), place, "plainName")
            let found = try context.fetch(
                FetchRequest<Pen>(FetchPredicate(format: "zooName == %@", zoo.name.lowercased())))
            let expected = Set(try context.fetch(FetchRequest<Pen>()).filter { $0.zoo?.name == zoo.name })
            expect(Set(found), expected, place, "pens by the name of their zoo")
            let heavy = try FetchRequest<Zoo>(FetchPredicate(format: "weight == %@", zoo.weight))
            if try !context.fetch(heavy).contains(zoo) { Issue.record("\(place()): the fetch misses \(zoo.objectID)") }
        }
    }
}

@Suite struct DerivedAttributeTests {
    private static let classes: [ManagedObject.Type] = [Zoo.self, Pen.self, Animal.self]

    @Test func `the macro describes derived attributes by key paths (MD-27)`() throws {
        let model = try ManagedObjectModel(for: Self.classes)
        let pen = try #require(model.entity(named: "Pen"))
        #expect(pen.attribute(named: "zooName")?.derivation == .value(of: "zoo.plainName"))
        #expect(pen.attribute(named: "heavyCount")?.derivation == .count(of: "animals", where: "weight >= 100"))
        #expect(pen.attribute(named: "weight")?.derivation == .sum(of: "weight", in: "animals"))
        #expect(pen.attribute(named: "changed")?.derivation == .now)
        #expect(model.entity(named: "Zoo")?.attribute(named: "plainName")?.derivation == .canonical(of: "name"))
    }

    @Test func `#Index declares conditions, folding and elements of composites (SD-07)`() throws {
        let animal = try #require(try ManagedObjectModel(for: Self.classes).entity(named: "Animal"))
        #expect(
            animal.description.indexes == [
                .init("weight_partial", on: [.init("weight")], predicateFormat: "weight >= 100"),
                .init("pen_weight_partial", on: [.init("pen"), .init("weight")], predicateFormat: "weight >= 100"),
                .init("name_folded", on: [.init("name", folding: [.caseInsensitive, .diacriticInsensitive])]),
                .init("chip_code", on: [.init("chip.code")]),
            ])
    }

    @Test(arguments: StoreKind.allCases)
    func `unsaved changes show at once, and other contexts see them after the save`(kind: StoreKind) throws {
        let stack = try Stack(kind, classes: Self.classes)
        let (zoo, pen) = (Zoo(context: stack.context), Pen(context: stack.context))
        (zoo.name, pen.zoo) = ("Étang", zoo)
        let lion = Animal(context: stack.context)
        (lion.weight, lion.pen) = (190, pen)
        #expect(pen.animalCount == 1 && pen.heavyCount == 1 && pen.weight == 190 && pen.heaviest == 190)
        #expect(zoo.penCount == 1 && zoo.weight == 190 && zoo.plainName == "etang" && pen.zooName == "etang")
        #expect(pen.changed == nil)
        try stack.context.save()
        #expect(pen.weight == 190 && zoo.weight == 190 && pen.zooName == "etang" && pen.changed != nil)

        let other = stack.newContext()
        other.automaticallyMergesChangesFromParent = true
        let theirs = try #require(try other.fetch(FetchRequest<Pen>()).first)
        #expect(theirs.weight == 190 && theirs.zooName == "etang")
        let mouse = Animal(context: stack.context)
        (mouse.weight, mouse.pen) = (1, pen)
        zoo.name = "Arche"
        #expect(pen.weight == 191 && pen.heavyCount == 1 && pen.zooName == "arche" && zoo.weight == 191)
        #expect(theirs.weight == 190)
        try stack.context.save()
        other.processPendingChanges()
        #expect(theirs.weight == 191 && theirs.zooName == "arche")

        try stack.context.delete(lion)
        try stack.context.save()
        #expect(pen.weight == 1 && pen.heavyCount == 0 && zoo.weight == 1)
    }

    @Test(arguments: StoreKind.allCases)
    func `another context's changes of derived values are no conflict`(kind: StoreKind) throws {
        let stack = try Stack(kind, classes: Self.classes)
        let zoo = Zoo(context: stack.context)
        try stack.context.save()
        let other = stack.newContext()
        let theirs = try #require(try other.fetch(FetchRequest<Zoo>()).first)
        theirs.name = "bears"
        Pen(context: stack.context).zoo = zoo
        try stack.context.save()
        try other.save()
        #expect(theirs.penCount == 1 && theirs.name == "bears")
        #expect(try stack.stored(Zoo.self).map(\.penCount) == [1])
    }

    @Test func `setting a derived attribute is refused with its expression`() throws {
        let stack = try Stack(.inMemory, classes: Self.classes)
        let pen = Pen(context: stack.context)
        let found = violations { try pen.setValue(.integer(3), forKey: "animalCount") }
        #expect(found.count == 1 && "\(found)".contains("animals.@count"))
        #expect(violations { try pen.setPrimitiveValue(.attribute(.integer(3)), forKey: "weight") }.count == 1)
        try stack.context.save()
        #expect(pen.animalCount == 0)
    }

    @Test(arguments: StoreKind.allCases)
    func `a rollback shows stored values again, also those that another context has changed`(kind: StoreKind) throws {
        let stack = try Stack(kind, classes: Self.classes)
        let pen = Pen(context: stack.context)
        try stack.context.save()
        let other = stack.newContext()
        other.automaticallyMergesChangesFromParent = true
        let theirs = try #require(try other.fetch(FetchRequest<Pen>()).first)
        theirs.title = "unsaved"
        let bear = Animal(context: stack.context)
        (bear.weight, bear.pen) = (300, pen)
        try stack.context.save()
        other.processPendingChanges()
        #expect(theirs.weight == 300)
        other.rollback()
        #expect(theirs.weight == 300 && theirs.animalCount == 1)
    }

    @Test func `a batch request that sets a derived attribute is refused by name, and others keep the values`() throws {
        let stack = try Stack(.btree, classes: Self.classes)
        let pen = Pen(context: stack.context)
        let animals = (0..<3).map { _ in Animal(context: stack.context) }
        for animal in animals { animal.pen = pen }
        try stack.context.save()
        #expect(throws: (any Error).self) {
            try stack.context.execute(BatchUpdateRequest(entityName: "Pen", propertiesToUpdate: ["weight": 3]))
        }
        _ = try stack.context.execute(BatchUpdateRequest(entityName: "Animal", propertiesToUpdate: ["weight": 150]))
        stack.context.refreshAllObjects()
        #expect(pen.weight == 450 && pen.heavyCount == 3)
    }

    @Test(arguments: StoreKind.allCases)
    func `a child sorts by the derived values that its parent computes, beside unsaved objects (F-3)`(
        kind: StoreKind
    ) throws {
        let stack = try Stack(kind, classes: Self.classes)
        let zoos = ["b", "d"].map { name in
            let zoo = Zoo(context: stack.context)
            zoo.name = name
            return zoo
        }
        try stack.context.save()
        zoos[0].name = "Z"
        let child = ManagedObjectContext(parent: stack.context)
        Zoo(context: child).name = "F"
        let request = FetchRequest<Zoo>(sortedBy: [SortKey("plainName")])

        let names = try child.fetch(request).map(\.name)
        var visited: [String] = []
        try child.enumerate(request, batchSize: 2) { visited.append($0.name) }

        #expect(names == ["d", "F", "Z"] && visited == names)
    }

    @Test(arguments: StoreKind.allCases)
    func `a walk of two contexts and a child shows and stores what an oracle computes`(kind: StoreKind) throws {
        let seed = testSeed(default: 1927)
        var random = SeededGenerator(seed: seed)
        let stack = try Stack(kind, classes: Self.classes)
        let contexts = [stack.context, stack.newContext()]
        for context in contexts {
            context.automaticallyMergesChangesFromParent = true
            context.mergePolicy = .objectTrump
        }
        let child = ManagedObjectContext(parent: stack.context)
        child.automaticallyMergesChangesFromParent = true
        for step in 0..<50 {
            let context = [contexts[0], contexts[1], contexts[1], child].randomElement(using: &random) ?? child
            let what = try Self.step(context, &random)
            let place = { "seed \(seed), step \(step), \(context === child ? "child" : "root"): \(what)" }
            if step % 2 == 0 { try ZooOracle(context: context).check(place) }
            guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
            // Another context may have deleted what this one has changed.
            if (try? context.save()) == nil { context.rollback() }
            for context in contexts { context.processPendingChanges() }
            try ZooOracle(context: stack.newContext()).check { place() + ", stored" }
            try ZooOracle(context: context).check { place() + ", saved" }
        }
    }

    private static func step(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws -> String {
        let zoos = try context.fetch(FetchRequest<Zoo>())
        let pens = try context.fetch(FetchRequest<Pen>())
        let animals = try context.fetch(FetchRequest<Animal>())
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            Zoo(context: context).name = "Zoo \(Int.random(in: 0..<1000, using: &random)) é".replacing("é", with: "Q")
            return "a zoo"
        case 1, 2:
            Pen(context: context).zoo = zoos.randomElement(using: &random)
            return "a pen"
        case 3, 4, 5:
            let animal = Animal(context: context)
            animal.weight = Int.random(in: 0..<300, using: &random)
            animal.pen = pens.randomElement(using: &random)
            return "an animal"
        case 6:
            animals.randomElement(using: &random)?.weight = Int.random(in: 0..<300, using: &random)
            return "a weight"
        case 7:
            animals.randomElement(using: &random)?.pen = pens.randomElement(using: &random)
            pens.randomElement(using: &random)?.zoo = zoos.randomElement(using: &random)
            return "moves"
        case 8:
            zoos.randomElement(using: &random)?.name = "Zoo \(Int.random(in: 0..<1000, using: &random))"
            return "a name"
        default:
            let objects = (zoos as [ManagedObject]) + (pens as [ManagedObject]) + (animals as [ManagedObject])
            if let object = objects.randomElement(using: &random) { try context.delete(object) }
            return "a deletion"
        }
    }
}
