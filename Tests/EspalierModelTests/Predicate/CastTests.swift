// CAST of constants: the value or the object for which a text or a URI stands, and texts that stand for nothing.

import EspalierModel
import Foundation
import Testing

@Suite struct CastTests {
    private let library: MusicLibrary
    private let album: TableObject
    private let band: TableObject

    init() throws {
        library = try MusicLibrary()
        album = try library.object("Album", ["title": .string("Abbey Road")], key: 10)
        band = try library.object("Band", ["name": .string("The Beatles")], key: 20)
        album.links = ["artist": [band]]
        band.links = ["albums": [album]]
    }

    /// A comparison with a CAST that only the resolver sees, because a variable is bound to the constant.
    private func bound(_ format: String, _ constant: AttributeValue) throws -> FetchPredicate {
        try FetchPredicate(format: format).withSubstitutionVariables(["V": constant])
    }

    private func holds(_ predicate: FetchPredicate, on object: TableObject) throws -> Bool {
        try ResolvedPredicate(predicate, for: object.entity, in: library.model).evaluate(on: object)
    }

    @Test(arguments: [
        ("artist == CAST($V, 'NSManagedObjectID')", true), ("CAST($V, 'objectID') == artist", true),
        ("artist != CAST($V, 'NSManagedObjectID')", false), ("artist IN {CAST($V, 'NSManagedObjectID')}", true),
        ("TERNARY(artist == nil, SELF, artist) == CAST($V, 'NSManagedObjectID')", true),
        ("SUBQUERY(artist.albums, $a, $a.artist == CAST($V, 'NSManagedObjectID')).@count == 1", true),
    ]) func `a URI names an object, as a text and as a value, written and bound (PR-14)`(
        format: String, isFound: Bool
    ) throws {
        let uri = band.objectID.uriRepresentation
        for constant in [AttributeValue.string(uri), .uri(try #require(URL(string: uri)))] {
            let written = try FetchPredicate(
                format: format.replacingOccurrences(of: "$V", with: "%@"), argumentArray: [constant])
            #expect(try holds(written, on: album) == isFound)
            #expect(try holds(bound(format, constant), on: album) == isFound)
        }
        let stranger = try library.object("Band", key: 21)
        #expect(try holds(bound(format, .string(stranger.objectID.uriRepresentation)), on: album) != isFound)
    }

    @Test func `a text in a row names an object, too, and one that names none is nil`() throws {
        let format = "artist == CAST(title, 'NSManagedObjectID')"
        album.values["title"] = .string(band.objectID.uriRepresentation)
        #expect(try library.holds(format, on: album))
        album.values["title"] = .string("no URI")
        #expect(try !library.holds(format, on: album))
        album.links = [:]
        #expect(try library.holds(format, on: album))
    }

    @Test func `a condition with an unsaved object is written as a CAST, and read back`() throws {
        for id in [ObjectID(temporaryFor: "Band"), band.objectID] {
            let predicate = try FetchPredicate(format: "artist == %@ AND SELF IN %@", id, [id])
            #expect(predicate.description.contains("NSManagedObjectID"))
            #expect(try FetchPredicate(format: predicate.description) == predicate)
        }
    }

    @Test(arguments: [
        ("x-espalier://5F0E2A54-0C8B-4C4E-9C6E-8A4B6B1F00FF/Band/p7", "NSManagedObjectID", "a store that"),
        ("x-espalier:///OfNoModel/t1", "objectID", "a store that"), ("Band/p7", "NSManagedObjectID", "a store that"),
        ("", "NSManagedObjectID", "a store that"), ("tomorrow", "NSDate", "dates"), ("zz", "NSUUID", "UUIDs"),
        ("0g", "NSData", "bytes"), ("one", "NSNumber", "numbers"), ("1e", "integer", "whole numbers"),
        ("yes", "boolean", "true or false"),
    ]) func `a constant that stands for nothing is an error, written and bound, and not nil (PR-13, PR-14)`(
        text: String, type: String, expected: String
    ) throws {
        let format = "title == CAST($V, '\(type)')"
        let written = #expect(throws: FetchPredicateError.self) {
            try FetchPredicate(format: format.replacingOccurrences(of: "$V", with: "%@"), text)
        }
        let predicate = try bound(format, .string(text))
        let late = #expect(throws: FetchPredicateError.self) { try holds(predicate, on: album) }

        for error in [written, late] {
            guard case .typeMismatch(_, let wanted)? = error?.reason else {
                Issue.record("\(text) as \(type): \(String(describing: error))")
                continue
            }
            #expect(wanted.contains(expected) && wanted.contains("'\(type)'"))
        }
        #expect(written?.column != nil)
        #expect(try !holds(bound("title == CAST($V, '\(type)')", .null), on: album))
    }
}
