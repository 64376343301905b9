// `@FetchedProperty` in classes: the model that is made of them, and the property in a context (FR-24).

import Espalier
import EspalierModel
import Foundation
import Observation
import Synchronization
import Testing

@Entity class Dish: ManagedObject {
    var name: String = ""
    var price: Int = 0
    @FetchedProperty(
        where: "price < $FETCH_SOURCE.price AND SELF != $FETCH_SOURCE", sortedBy: [.init("price")], limit: 2)
    var cheaper: [Dish]
    @FetchedProperty(
        where: "text CONTAINS $FETCH_SOURCE.name AND text CONTAINS $FETCHED_PROPERTY.userInfo.mark",
        userInfo: ["mark": "!"])
    var praise: [Review]
    @FetchedProperty(where: "text MATCHES $FETCH_SOURCE.name") var matches: [Review]
    @Attribute(.externalStorage) var photo: Data?
}

@Entity final class Soup: Dish {
    @FetchedProperty var all: [Soup]
}

@Entity final class Review: ManagedObject {
    var text: String = ""
}

@Suite struct FetchedPropertyClassTests {
    @Test func `a class declares requests as properties, which find objects of their classes (FR-24)`() throws {
        let model = try ManagedObjectModel(for: [Soup.self])
        #expect(model.entities.map(\.name) == ["Dish", "Soup", "Review"])
        #expect(model.entity(named: "Soup")?.fetchedProperties.map(\.name) == ["cheaper", "praise", "matches", "all"])
        #expect(Dish.entityDescription.attributes.map(\.name) == ["name", "price", "photo"])
        let container = try PersistentContainer(model: model, stores: [.inMemory])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        for (name, price) in [("bread", 1), ("salad", 3), ("stew", 2)] {
            let dish = Dish(context: context)
            (dish.name, dish.price) = (name, price)
        }
        let soup = Soup(context: context)
        (soup.name, soup.price) = ("goulash", 5)
        for text in ["goulash!", "goulash", "stew!"] { Review(context: context).text = text }

        #expect(soup.cheaper.map(\.name) == ["bread", "stew"])
        #expect(soup.praise.map(\.text) == ["goulash!"])
        #expect(soup.all == [soup])
        try context.save()
        #expect(soup.cheaper.map(\.name) == ["bread", "stew"])
        #expect(try soup.value(forKey: "praise") == .toMany(soup.praise))
    }

    @Test func `a request of a class that fails is empty, and the save reports entity and property (FR-24)`() throws {
        let container = try PersistentContainer(
            model: try ManagedObjectModel(for: [Dish.self, Review.self]), stores: [.inMemory])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        let dish = Dish(context: context)
        dish.name = "("

        #expect(dish.matches.isEmpty)

        let error = try #require(throws: ContextError.self) { try context.save() }
        #expect("\(error)".contains("the fetched property 'Dish.matches' could not be read"), "\(error)")
        #expect(throws: ContextError.self) { try dish.fetchedObjects(forKey: "matches") }
    }

    /// Whether `change` notifies an observer of a soup's fetched property.
    private func isTold(of soup: Soup, _ change: () throws -> Void) throws -> Bool {
        final class Call: Sendable { let isMade = Atomic(false) }
        let call = Call()
        withObservationTracking {
            _ = soup.cheaper
        } onChange: {
            call.isMade.store(true, ordering: .relaxed)
        }
        try change()
        return call.isMade.load(ordering: .relaxed)
    }

    @Test func `readers of a fetched property are told when its object is refreshed, and not before (MO-41)`() throws {
        let container = try PersistentContainer(model: try ManagedObjectModel(for: [Soup.self]), stores: [.inMemory])
        let context = ManagedObjectContext(container.persistentStoreCoordinator)
        context.isObservable = true
        let (soup, dish) = (Soup(context: context), Dish(context: context))
        (soup.price, dish.price) = (5, 3)

        #expect(try !isTold(of: soup) { dish.price = 7 })
        #expect(soup.cheaper == [dish])
        #expect(try isTold(of: soup) { context.refresh(soup, mergesChanges: true) } && soup.cheaper == [])
        #expect(try isTold(of: soup) { context.refreshAllObjects() })
        try context.save()
        #expect(try !isTold(of: soup) { dish.price = 1 })
        #expect(try isTold(of: soup) { context.refresh(soup, mergesChanges: true) } && soup.cheaper == [dish])
    }

    @Test func `a class says that large values may be outside, and keeps them with their rows (MD-22, SD-04)`() throws {
        let photo = try #require(Dish.entityDescription.attributes.last)
        #expect(photo.allowsExternalBinaryDataStorage && photo.type == .binary)
    }
}
