// Models as bytes: golden bytes, round trips, untrusted input; and the hashes that tell versions apart (MD-05).

import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct ModelCodingTests {
    @Test func `the bytes of layout version 1 never change`() throws {
        let entity = EntityDescription(
            "Art", superentity: "Top", isAbstract: true,
            attributes: [
                AttributeDescription("n", .integer16, isOptional: false, defaultValue: .integer(-3), isIndexed: true)
            ],
            relationships: [
                RelationshipDescription(
                    "r", to: "Top", inverse: "q", .ordered, deleteRule: .deny, minCount: 1, maxCount: 300)
            ],
            uniquenessConstraints: [["n"]], indexes: [.init("i", on: [.init("n", isAscending: false)])],
            renamingIdentifier: "Old")
        let bytes: [UInt8] = [
            0x45, 0x53, 0x50, 0x4D, 0x01,  // "ESPM", version 1
            0x01, 0x02, 0x76, 0x31,  // one version identifier, "v1"
            0x01,  // one entity
            0x03, 0x41, 0x72, 0x74,  // "Art"
            0x01, 0x03, 0x54, 0x6F, 0x70,  // superentity "Top"
            0x01,  // abstract
            0x01, 0x01, 0x6E, 0x64, 0x04,  // one attribute: "n", type 100, indexed and not optional
            0x01, 0x05,  // default: integer -3, zigzag 5
            0x00, 0x00, 0x00,  // no elements, no transformer, no renaming identifier
            0x01, 0x01, 0x72, 0x03, 0x54, 0x6F, 0x70,  // one relationship: "r" to "Top"
            0x01, 0x01, 0x71,  // inverse "q"
            0x02, 0x03, 0x01,  // ordered, deny, optional
            0x01, 0xAC, 0x02, 0x00,  // 1 to 300 destinations, no renaming identifier
            0x01, 0x01, 0x01, 0x6E,  // one constraint of one property, "n"
            0x01, 0x01, 0x69, 0x01, 0x01, 0x6E, 0x00,  // one index "i" on "n", descending
            0x01, 0x03, 0x4F, 0x6C, 0x64,  // renaming identifier "Old"
        ]
        let model = EncodedModel(entities: [entity], versionIdentifiers: ["v1"])
        #expect(model.bytes == bytes)
        #expect(try EncodedModel(bytes: bytes) == model)
    }

    @Test func `a model comes back as it was`() throws {
        let model = try ManagedObjectModel(entities: MusicLibrary.descriptions, versionIdentifiers: ["1", "é"])
        let again = try EncodedModel(bytes: EncodedModel(model).bytes)
        #expect(again.entities == MusicLibrary.descriptions)
        #expect(again.versionIdentifiers == ["1", "é"])
    }

    @Test func `every kind of default comes back as it was`() throws {
        var random = RandomPredicates(seed: testSeed(default: 50))
        for _ in 0..<500 {
            let parts = ["a": random.value(), "b": .composite(["c": random.value()])]
            for value in [random.value(), .composite(parts)] {
                let entity = EntityDescription(
                    "A", attributes: [AttributeDescription("x", .string, defaultValue: value)])
                let again = try EncodedModel(bytes: EncodedModel(entities: [entity]).bytes).entities
                #expect(again == [entity], "seed \(random.seed): \(value)")
            }
        }
    }

    @Test(
        arguments: [
            ([], 0, ModelCodingError.Reason.truncated), ([0x45, 0x53, 0x50, 0x4E], 0, .notAModel),
            ([0x45, 0x53, 0x50, 0x4D, 0x04], 4, .unsupportedVersion(4)),
            ([0x45, 0x53, 0x50, 0x4D, 0x01, 0xFF, 0xFF, 0x03], 5, .countBeyondInput(65535)),
            ([0x45, 0x53, 0x50, 0x4D, 0x01, 0x01, 0x01, 0xFF, 0x00], 6, .malformedText),
            ([0x45, 0x53, 0x50, 0x4D, 0x01, 0x00, 0x00, 0x00], 7, .trailingBytes(1)),
            ([0x45, 0x53, 0x50, 0x4D, 0x01] + Array(repeating: 0x80, count: 11), 5, .malformedNumber),
        ] as [([UInt8], Int, ModelCodingError.Reason)])
    func `bytes that are no model are refused with the place`(
        bytes: [UInt8], offset: Int, reason: ModelCodingError.Reason
    ) throws {
        let error = try #require(throws: ModelCodingError.self) { try EncodedModel(bytes: bytes) }
        #expect(error == ModelCodingError(byteOffset: offset, reason: reason))
        #expect(error.description.hasPrefix("encoded model, byte \(offset): "))
    }

    @Test func `no bytes make the decoder trap`() throws {
        var random = SeededGenerator(seed: testSeed(default: 51))
        let model = EncodedModel(entities: MusicLibrary.descriptions).bytes
        for end in 0..<model.count {
            #expect(throws: ModelCodingError.self) { try EncodedModel(bytes: Array(model[..<end])) }
        }
        var refused = 0
        for _ in 0..<campaignCount("ESPALIER_MODEL_ROUNDS", default: 3000) {
            var bytes = model
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let position = Int.random(in: 5..<bytes.count, using: &random)
                bytes[position] = UInt8.random(in: 0...255, using: &random)
            }
            do {
                let decoded = try EncodedModel(bytes: bytes)
                // A model that can be read can be written, and checking it must not trap, whatever it contains.
                #expect(try EncodedModel(bytes: decoded.bytes).bytes == decoded.bytes)
                _ = try? ManagedObjectModel(entities: decoded.entities)
            } catch { refused += 1 }
        }
        #expect(refused > 100)
    }
}

@Suite struct VersionHashTests {
    private func hashes(_ change: (inout [EntityDescription]) -> Void = { _ in }) throws -> [String: [UInt8]] {
        var descriptions = MusicLibrary.descriptions
        change(&descriptions)
        return try ManagedObjectModel(entities: descriptions).entityVersionHashesByName
    }

    /// The names of the entities whose hash the change alters.
    private func changed(_ change: (inout [EntityDescription]) -> Void) throws -> Set<String> {
        let (before, after) = (try hashes(), try hashes(change))
        return Set(after.keys.filter { before[$0] != after[$0] })
    }

    @Test func `the hash of an entity never changes from run to run`() throws {
        let model = try ManagedObjectModel(entities: [
            EntityDescription("A", attributes: [AttributeDescription("x", .string)])
        ])
        let hash = try #require(model.entity(named: "A")).versionHash
        // FNV-1a, 128 bits, of: 1 "A", no superentity, one attribute (1 "x", type 700, optional, no elements), no
        // relationships, no constraints.
        let bytes: [UInt8] = [0x01, 0x41, 0x00, 0x01, 0x01, 0x78, 0xBC, 0x05, 0x01, 0x00, 0x00, 0x00]
        var expected: UInt128 = 0x6C62_272E_07BB_0142_62B8_2175_6295_C58D
        for byte in bytes { expected = (expected ^ UInt128(byte)) &* 0x0000_0000_0100_0000_0000_0000_0000_013B }
        #expect(hash == (0..<16).map { UInt8(truncatingIfNeeded: expected >> (120 - 8 * $0)) })
        #expect(model.versionChecksum.count == 32)
    }

    @Test func `what decides how objects are stored changes the hash`() throws {
        #expect(try changed { $0[3].attributes[0].type = .integer64 } == ["Album"])
        #expect(try changed { $0[3].attributes[0].isOptional = false } == ["Album"])
        #expect(
            try changed {
                $0[3].attributes[0].isTransient = true; $0[3].attributes[0].isIndexed = false
            } == ["Album"])
        #expect(try changed { $0[3].attributes[12].elements[0].type = .double } == ["Album"])
        #expect(try changed { $0[3].uniquenessConstraints = [["title"]] } == ["Album"])
        #expect(try changed { $0[5].relationships[0].maxCount = 9 } == ["Playlist"])
        #expect(try changed { $0[5].relationships[0].cardinality = .ordered } == ["Playlist"])
        #expect(
            try changed {
                $0[5].superentity = "Named"; $0[5].attributes = []
            } == ["Playlist"])
        #expect(
            try changed {
                $0[4].relationships[1].inverse = nil; $0[5].relationships[0].inverse = nil
            } == ["Track", "Playlist"])
        // A change of an inherited property changes the hashes of all heirs.
        #expect(try changed { $0[0].attributes[0].isOptional = true } == ["Named", "Artist", "Band"])
    }

    @Test func `what does not decide it leaves the hash alone`() throws {
        #expect(
            try changed { entities in
                entities[3].attributes[0].defaultValue = .string("x")
                entities[3].attributes[0].renamingIdentifier = "old"
                entities[3].attributes[0].isIndexed = false
                entities[3].attributes[10].valueTransformerName = "T"
                entities[3].relationships[1].deleteRule = .deny
                entities[3].renamingIdentifier = "Record"
                entities[3].attributes.reverse()
                entities[3].relationships.reverse()
                entities[0].isAbstract = false
            } == [])
    }
}
