// Typed classes in a context, before anything is saved.

import Espalier
import EspalierModel
import Foundation
import Testing

@Suite struct TypedAccessTests {
    let context: ManagedObjectContext

    init() throws {
        let model = try ManagedObjectModel(for: musicClasses)
        context = ManagedObjectContext(PersistentStoreCoordinator(managedObjectModel: model))
    }

    @Test func `a new object begins with defaults and reads back what is set`() {
        let track = Track(context: context)
        #expect(track.seconds == 180)
        #expect(track.medium == .file)
        #expect(track.name == "")

        track.name = "Blue in Green"
        track.medium = .vinyl

        #expect(track.name == "Blue in Green")
        #expect(track.medium == .vinyl)
        #expect(track.isInserted && track.objectID.isTemporary && track.managedObjectContext === context)
    }

    @Test func `a subclass has the properties of its superclass and its own`() {
        let track = LiveTrack(context: context)
        track.name = "So What"
        track.venue = "Blackhawk"

        #expect(track.name == "So What")
        #expect(track.venue == "Blackhawk")
        #expect(track.entity.superentity == context.model.entity(named: "Track")?.index)
    }

    @Test func `setting one side of a relationship sets the other at once`() {
        let artist = Artist(context: context)
        let albums = [Album(context: context), Album(context: context)]

        albums[0].artist = artist
        artist.albums.insert(albums[1])

        #expect(artist.albums == Set(albums))
        #expect(albums[1].artist === artist)
        albums[0].artist = nil
        #expect(artist.albums == [albums[1]])
    }

    @Test func `an ordered relationship keeps its order, and a moved object leaves its old owner`() {
        let (one, two) = (Album(context: context), Album(context: context))
        let tracks = (0..<4).map { _ in Track(context: context) }

        one.tracks = [tracks[2], tracks[0], tracks[1]]
        tracks[3].album = one
        two.tracks = [tracks[0]]

        #expect(one.tracks == [tracks[2], tracks[1], tracks[3]])
        #expect(tracks[0].album === two)
    }

    @Test func `a one-to-one relationship takes both partners from whom they had`() {
        let listeners = (0..<4).map { _ in Listener(context: context) }
        listeners[0].partner = listeners[1]
        listeners[2].partner = listeners[3]

        listeners[0].partner = listeners[2]

        #expect(listeners.map { $0.partner } == [listeners[2], nil, listeners[0], nil])
    }

    @Test func `a transformable attribute has the value that its registered transformer makes (MD-24)`() throws {
        let model = try ManagedObjectModel(for: [Label.self])
        let context = ManagedObjectContext(PersistentStoreCoordinator(managedObjectModel: model))
        try AttributeTransformers.register(WordTransformer(), forName: "Words")
        let label = Label(context: context)
        label.words = ["så", "what"]

        #expect(label.words == ["så", "what"])
        #expect(label[attribute: "words"] == .transformable(Data("så what".utf8)))

        label.words = nil

        #expect(label.words == nil && label[attribute: "words"] == .null)
    }

    @Test(arguments: StoreKind.allCases)
    func `an object that is a transformable value is saved as it was when it was set, and can be set again (MD-24)`(
        _ kind: StoreKind
    ) throws {
        try AttributeTransformers.register(BasketTransformer(), forName: "Basket")
        let stack = try Stack(kind, classes: [Shopper.self])
        let (context, basket) = (stack.context, Basket(["pear"]))
        let shopper = Shopper(context: context)
        shopper.basket = basket
        basket.fruits.append("never set")
        try context.save()
        #expect(try stack.stored(Shopper.self).map(\.basket?.fruits) == [["pear"]])

        shopper.basket?.fruits.append("lost")
        #expect(!shopper.hasChanges && shopper.basket?.fruits == ["pear"])
        let changed = try #require(shopper.basket)
        changed.fruits.append("plum")
        shopper.basket = changed
        #expect(shopper.hasPersistentChangedValues && shopper.basket?.fruits == ["pear", "plum"])
        try context.save()
        #expect(try stack.stored(Shopper.self).map(\.basket?.fruits) == [["pear", "plum"]])
    }

    @Test(arguments: ["NSKeyedUnarchiveFromData", "NSSecureUnarchiveFromData"])
    func `an attribute that names a transformer of Apple's cannot be saved before it is registered (MD-24)`(
        _ name: String
    ) throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription(
                "Keeper",
                attributes: [
                    AttributeDescription("kept", .transformable, valueTransformerName: name),
                    AttributeDescription("bytes", .transformable),
                ])
        ])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        let context = ManagedObjectContext(coordinator)
        let object = try context.insertNewObject(forEntityName: "Keeper")
        object._setTransformed("kept", at: 0, by: name, ["a"])

        let error = contextError { try context.save() }

        #expect(error?.code == 134060 && "\(error as Any)".contains("'\(name)'"), "\(error as Any)")
        // Bytes need no transformer.
        for key in ["kept", "bytes"] { try object.setValue(.transformable(Data([1])), forKey: key) }
        try context.save()
        let reader = ManagedObjectContext(coordinator)
        let stored = try reader.existingObject(with: object.objectID)
        #expect(["kept", "bytes"].allSatisfy { stored[attribute: $0] == .transformable(Data([1])) })
    }

    /// A value that can change after it was set.
    private final class Basket {
        var fruits: [String]

        init(_ fruits: [String]) { self.fruits = fruits }
    }

    private struct BasketTransformer: AttributeTransformer {
        func data(from basket: Basket) -> Data { Data(basket.fruits.joined(separator: "\n").utf8) }

        func value(from data: Data) -> Basket {
            Basket(String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init))
        }
    }

    private final class Shopper: ManagedObject {
        override class var entityName: String { "Shopper" }
        override class var entityDescription: EntityDescription {
            EntityDescription(
                "Shopper", properties: [EntityDescription._transformable("basket", Basket?.self, by: "Basket")])
        }
        var basket: Basket? {
            get { _getTransformed("basket", at: 0, by: "Basket") }
            set { _setTransformed("basket", at: 0, by: "Basket", newValue) }
        }
    }

    private struct WordTransformer: AttributeTransformer {
        func data(from words: [String]) throws -> Data { Data(words.joined(separator: " ").utf8) }

        func value(from data: Data) throws -> [String] {
            String(decoding: data, as: UTF8.self).split(separator: " ").map(String.init)
        }
    }

    private final class Label: ManagedObject {
        override class var entityName: String { "Label" }
        override class var entityDescription: EntityDescription {
            EntityDescription(
                "Label", properties: [EntityDescription._transformable("words", [String]?.self, by: "Words")])
        }
        var words: [String]? {
            get { _getTransformed("words", at: 0, by: "Words") }
            set { _setTransformed("words", at: 0, by: "Words", newValue) }
        }
    }
}
