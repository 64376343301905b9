// Indexes and constraints by key paths, and classes that are found by way of relationships.

import Espalier
import Testing

@Suite struct KeyPathGroupTests {
    @Test func `key paths declare indexes and constraints (SD-06, SD-07)`() throws {
        let model = try ManagedObjectModel(for: [Shop.self])
        let (shop, branch) = (try #require(model.entity(named: "Shop")), try #require(model.entity(named: "Branch")))

        #expect(shop.uniquenessConstraints == [["code"], ["name", "town"], ["town", "street"]])
        #expect(shop.indexes.map(\.name) == ["byStreet", "street_name", "town"])
        #expect(shop.indexes[1].elements.map(\.property) == ["street", "name"])
        #expect(branch.uniquenessConstraints.last == ["town", "number"])
    }

    @Test func `a class declares an index of an expression, beside those of key paths (SD-07)`() throws {
        let model = try ManagedObjectModel(for: [Placard.self])
        let description = try #require(model.entity(named: "Placard")).description

        #expect(
            description.indexes == [
                .init("area", on: [.init(expression: "width * height", isAscending: false)]),
                .init("title", on: [.init("title")]),
            ])
    }

    @Test func `key paths declare what a save does with values that are taken (SD-06, F-6)`() throws {
        let model = try ManagedObjectModel(for: [Stall.self])
        let description = try #require(model.entity(named: "Stall")).description

        #expect(
            description.uniquenessConstraints == [["badge"], ["hall", "row"], ["hall", "name"], ["code"], ["owner"]])
        #expect(
            description.constraintActions == [
                ["badge"]: .refuse, ["hall", "row"]: .merge, ["hall", "name"]: .merge, ["code"]: .keep,
            ])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        let context = ManagedObjectContext(coordinator)
        func stall(_ row: Int, code: Int, badge: Int, name: String, note: String) throws {
            let stall = Stall(context: context)
            (stall.hall, stall.row, stall.code, stall.badge) = ("A", row, code, badge)
            (stall.name, stall.owner, stall.note) = (name, "\(name) \(code)", note)
            try context.save()
        }
        func notes() throws -> [String] { try context.fetch(FetchRequest<Stall>()).map(\.note) }

        try stall(1, code: 1, badge: 1, name: "a", note: "first")
        try stall(1, code: 2, badge: 2, name: "b", note: "merged")
        #expect(try notes() == ["merged"])
        try stall(3, code: 2, badge: 3, name: "c", note: "dropped")
        #expect(try notes() == ["merged"])
        let error = #expect(throws: ContextError.self) { try stall(4, code: 4, badge: 2, name: "d", note: "refused") }
        guard case .constraints(let conflicts)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(conflicts.map(\.properties) == [["badge"]])
    }

    @Test func `what is no key path of one property of the model is an error at the key path`() throws {
        let snippet = try Snippet(
            #"""
            import Espalier
            #Index<Track>([\.name]) // error: #Index belongs in the body of a class with @Entity
            @Entity final class Track: ManagedObject {
                #Index<Track>() // error: #Index needs at least one list of key paths
                #Index<Track>([\.length]) // error: length is not a property of the model, so #Index cannot name it
                #Index<Track>([\.name], [\.objectID]) // error: objectID is not a property of the model
                #Unique<Album>([\.title]) // error: #Unique is about the class in which it is: write 'Track'
                #Unique<Track>([\.album?.title]) // error: write each group of #Unique as a list of key paths of one
                #Unique<Track>([]) // error: write each group of #Unique as a list of key paths of one property each
                var name: String = ""
                var length: Int { 0 }
                var album: Album?
            }
            @Entity final class Album: ManagedObject { var title: String }
            """#)

        #expect(snippet.isAsExpected, "\(snippet.log)")
        #expect(snippet.diagnostics.contains("write 'Track'"))
    }

    @Test func `a key path of no property does not compile`() throws {
        let snippet = try Snippet(
            #"""
            import Espalier
            @Entity final class Track: ManagedObject {
                #Index<Track>([\.nam])
                var name: String = ""
            }
            """#)

        #expect(!snippet.isValid && snippet.faults.allSatisfy { $0.line == 3 }, "\(snippet.log)")
    }

    @Test func `a misspelt property in the condition of an index does not compile (C-10)`() throws {
        let snippet = try Snippet(
            #"""
            import Espalier
            import Foundation
            @Entity final class Track: ManagedObject {
                #Index<Track>([\.name], matching: Track.isX)
                static let isX: Predicate<Track> = #Predicate { $0.nam == "x" }
                var name: String = ""
            }
            """#)

        #expect(!snippet.isValid && snippet.faults.contains { $0.line == 5 }, "\(snippet.log)")
    }

    @Test func `a macro as the condition of an index is an error that says what to write`() throws {
        let snippet = try Snippet(
            #"""
            import Espalier
            import Foundation
            @Entity final class Track: ManagedObject {
                #Index<Track>([\.name], matching: #Predicate { $0.name == "x" })
                var name: String = ""
            }
            """#)

        #expect(!snippet.isValid && snippet.log.contains("write the name of a constant"), "\(snippet.log)")
    }

    @Test func `two conditions, and one that is no predicate, are errors where they are`() throws {
        let snippet = try Snippet(
            #"""
            import Espalier
            import Foundation
            @Entity final class Track: ManagedObject {
                static let isOther: Predicate<Track> = #Predicate { $0.a != 1 }
                #Index<Track>([\.a], where: "a != 1", matching: Track.isOther) // error: there is a condition
                @FetchedProperty(matching: 5) var list: [Track] // error: a condition after 'matching:' is a predicate
                var a: Int = 0
            }
            """#)

        #expect(snippet.isAsExpected, "\(snippet.log)")
    }

    @Test func `a container finds the classes to which relationships lead, at any distance (SD-13)`() throws {
        let model = try ManagedObjectModel(for: [Item.self])

        #expect(model.entities.map(\.name) == ["Item", "Shop", "Town", "Branch"])
        #expect(
            try ManagedObjectModel(for: [Item.self, Town.self, Shop.self]).entities.map(\.name)
                == ["Item", "Town", "Shop", "Branch"])
        #expect(try ManagedObjectModel(for: [Town.self]).entities.map(\.name) == ["Town"])
    }

    @Test func `two classes of one entity are reported, also if a relationship leads to one of them`() throws {
        let error = #expect(throws: ModelError.self) {
            try ManagedObjectModel(for: [Old.Town.self, Item.self])
        }

        #expect("\(try #require(error))".contains("two classes"))
    }

    @Test func `a modifier changes the hash of a class and of its properties (SD-04, SD-08)`() throws {
        let model = try ManagedObjectModel(for: [Shop.self])
        let shop = try #require(model.entity(named: "Shop"))

        #expect(shop.description.versionHashModifier == "2")
        #expect(shop.attributes.first { $0.name == "code" }?.description.versionHashModifier == "b")
        #expect(shop.relationships.first { $0.name == "items" }?.description.versionHashModifier == "c")
    }
}

@Entity final class Item: ManagedObject {
    @Relationship(inverse: \Shop.items) var shop: Shop?
}

@Entity(
    uniquenessConstraints: [["code"]], indexes: [EntityDescription.Index("byStreet", on: [.init("street")])],
    hashModifier: "2")
class Shop: ManagedObject {
    #Unique<Shop>([\.name, \.town], [\Shop.town, \Shop.street])
    #Index<Shop>([\.street, \.name])
    #Index<Shop>([\.town])
    @Attribute(hashModifier: "b") var code: Int = 0
    var name: String = ""
    var street: String = ""
    var town: Town?
    @Relationship(hashModifier: "c") var items: ToMany<Item>
    var branches: [Branch]
}

@Entity(
    indexes: [EntityDescription.Index("area", on: [.init(expression: "width * height", isAscending: false)])])
final class Placard: ManagedObject {
    #Index<Placard>([\.title])
    var title: String = ""
    var width: Int = 0
    var height: Int = 0
}

@Entity(uniquenessConstraints: [["badge"]], constraintActions: [["badge"]: .refuse])
final class Stall: ManagedObject {
    #Unique<Stall>([\.hall, \.row], [\.hall, \.name], onConflict: .merge)
    #Unique<Stall>([\.code], onConflict: Stall.codeAction)
    #Unique<Stall>([\.owner], onConflict: nil)
    static let codeAction = ConstraintAction.keep
    var badge: Int
    var hall: String
    var row: Int
    var code: Int
    var name: String
    var owner: String
    var note: String
}

@Entity final class Branch: Shop {
    #Unique<Branch>([\.town, \.number])
    var number: Int = 0
}

@Entity final class Town: ManagedObject { var name: String = "" }

enum Old {
    @Entity final class Town: ManagedObject { var name: String = "" }
}
