// The conversion of documents to models and back, and the features of documents that Espalier does not support.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct ModelConversionTests {
    private func conversion(_ xml: String) throws -> ModelConversion {
        try ModelDocument(xml: Data(xml.utf8)).conversion()
    }

    @Test func `every word that a model has comes to it`() throws {
        let conversion = try conversion(EveryWord.xml)

        // The one word that has no meaning here.
        #expect(conversion.unsupported.map(\.kind) == [.unsupported(.transientRelationships)])
        #expect(conversion.versionIdentifiers == ["2.1"])
        #expect(conversion.configurations == [ConfigurationDescription("Local", entities: ["Thing", "Base"])])
        #expect(
            conversion.fetchRequestTemplates == [
                FetchRequestTemplate("all", entity: "Thing"),
                FetchRequestTemplate(
                    "some", entity: "Thing", predicateFormat: "memo == $MEMO", fetchLimit: 3, fetchBatchSize: 20,
                    includesSubentities: false, includesPendingChanges: false, returnsObjectsAsFaults: false,
                    returnsDistinctResults: true),
            ])
        #expect(conversion.entities.first == Self.base)
        #expect(conversion.entities.last == Self.thing)
        #expect(
            try ManagedObjectModel(
                ModelDocument(xml: Data(EveryWord.xml.utf8)), ignoring: [.transientRelationships]
            ).descriptions == [Self.base, Self.thing])
    }

    private static let base = EntityDescription(
        "Base", isAbstract: true,
        attributes: [AttributeDescription("key", .uuid, isOptional: false, isIndexed: true)],
        indexes: [.init("byKey", on: [.init("key", isAscending: false)])], renamingIdentifier: "Root",
        managedObjectClassName: ".Base", versionHashModifier: "m1", userInfo: ["a": "1 < 2 & \"x\"\ny", "b": ""])

    private static let thing = EntityDescription(
        "Thing", superentity: "Base", attributes: attributes, relationships: relationships,
        fetchedProperties: [
            FetchedPropertyDescription(
                "peers", of: "Thing", predicateFormat: "memo == $FETCH_SOURCE.memo", fetchLimit: 2,
                includesSubentities: false, userInfo: ["e": "f"])
        ],
        uniquenessConstraints: [["memo", "runs"], ["tag"]],
        indexes: [
            .init("compoundIndex1", on: [.init("days"), .init("rows")]),
            // The superentity has an index of the same name, and a model has each name once in a hierarchy.
            .init("byKeyOfThing", on: [.init("cost"), .init("owner", isAscending: false)]),
            .init(
                "byWords",
                on: [
                    .init("memo", folding: [.caseInsensitive, .diacriticInsensitive]),
                    .init(expression: "days * rows", isAscending: false),
                ], predicateFormat: "days > 3"),
        ], managedObjectClassName: "Thing")

    private static var attributes: [AttributeDescription] {
        func one(
            _ name: String, _ type: AttributeType, _ value: AttributeValue = .null, isOptional: Bool = false
        ) -> AttributeDescription { AttributeDescription(name, type, isOptional: isOptional, defaultValue: value) }
        func ruled(
            _ attribute: AttributeDescription, _ conditions: ValidationRule.Condition...
        ) -> AttributeDescription {
            var attribute = attribute
            attribute.validationRules = conditions.map { ValidationRule($0) }
            return attribute
        }
        let point = [one("x", .double, .double(0)), one("y", .double, isOptional: true)]
        return [
            AttributeDescription("bits", .binary, allowsExternalBinaryDataStorage: true),
            one("blue", .boolean, .boolean(true)),
            ruled(
                one("born", .date, .date(Date(timeIntervalSinceReferenceDate: -86400.5))),
                .minimum(.date(Date(timeIntervalSinceReferenceDate: -86400.5))),
                .maximum(.date(Date(timeIntervalSinceReferenceDate: 864_000)))),
            AttributeDescription(
                "cost", .decimal, defaultValue: .decimal(Decimal(-125) / 10), renamingIdentifier: "price",
                versionHashModifier: "m2"),
            AttributeDescription("crowd", .integer64, derivation: .count(of: "friends")),
            ruled(one("days", .integer16, .integer(-7)), .minimum(.integer(-7)), .maximum(.integer(366))),
            AttributeDescription("echo", .string, derivation: .lowercase(of: "memo")),
            one("heat", .float, .float(0.25)),
            AttributeDescription(
                "home", .uri, defaultValue: URL(string: "https://example.com/a").map(AttributeValue.uri) ?? .null),
            one("mass", .double, .double(1e100)),
            ruled(
                one("memo", .string, .string("a & b")), .minimumLength(0), .maximumLength(80), .pattern("[^<>]*")),
            one("rows", .integer32, .integer(0)), one("runs", .integer64, .integer(.max)),
            AttributeDescription(
                "size", .composite,
                elements: [
                    AttributeDescription("corner", .composite, elements: point), one("unit", .string, .string("m")),
                ]),
            AttributeDescription("some", .undefined, isTransient: true),
            AttributeDescription("sort", .transformable, valueTransformerName: "ColorTransformer"),
            AttributeDescription(
                "tag", .uuid,
                defaultValue: UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8").map(AttributeValue.uuid) ?? .null
            ),
            AttributeDescription("void", .undefined, isTransient: true),
        ]
    }

    private static let relationships = [
        RelationshipDescription(
            "friends", to: "Thing", inverse: "owner", .ordered, deleteRule: .cascade, minCount: 1, maxCount: 9,
            renamingIdentifier: "pals", versionHashModifier: "m3"),
        RelationshipDescription("loose", to: "Base", deleteRule: .noAction, isOptional: false),
        RelationshipDescription(
            "owner", to: "Thing", inverse: "friends", deleteRule: .deny, userInfo: ["c": "d"]),
        RelationshipDescription("shadow", to: "Thing"),
    ]

    @Test(
        arguments: [
            (
                .validationRules, "<attribute name='n' attributeType='String' regularExpressionString='a('/>",
                "attribute 'n': has the rule regularExpressionString=\"a(\", which Espalier does not check: "
                    + "\"a(\" is not a valid regular expression: '(' has no ')', at position 2"
            ),
            (
                .validationRules, "<attribute name='n' attributeType='String' minValueString='-1'/>",
                "attribute 'n': has the rule minValueString=\"-1\", which Espalier does not check: "
                    + "a length is a whole number, 0 or more"
            ),
            (
                .validationRules, "<attribute name='n' attributeType='Integer 16' maxValueString='65535'/>",
                "attribute 'n': has the rule maxValueString=\"65535\", which Espalier does not check: "
                    + "it is not a value of type integer16"
            ),
            (
                .validationRules, "<attribute name='n' attributeType='Double' minValueString='nan'/>",
                "attribute 'n': has the rule minValueString=\"nan\", which Espalier does not check: "
                    + "it is not a value of type double"
            ),
            (
                .validationRules, "<attribute name='n' attributeType='Date' minValueString='0'/>",
                "attribute 'n': has the rule minValueString=\"0\", which Espalier does not check: "
                    + "it has no meaning for type date"
            ),
            (
                .validationRules, "<attribute name='n' attributeType='String' validationPredicates='YES'/>",
                "attribute 'n': has the rule validationPredicates=\"YES\", which Espalier does not check: "
                    + "no word of model files says the same; set it in code"
            ),
            (
                .derivedAttributes,
                "<attribute name='n' attributeType='String' derived='YES' derivationExpression='t + 1'/>",
                "attribute 'n': is derived (t + 1), and Espalier does not compute it: "
                    + "a store keeps a key path, canonical:, lowercase: or uppercase: of one, @count, @sum, @avg, "
                    + "@min or @max of a to-many relationship, the @count of a SUBQUERY, and now()"
            ),
            (
                .compositeParts, "<attribute name='c' optional='YES' attributeType='Composite'/>",
                "attribute 'c': is a composite whose parts the file does not have, so it is left out"
            ),
            (
                .fetchedProperties, "<fetchedProperty name='f'/>",
                "fetchedProperty 'f': has no request that can be read, so it is left out"
            ),
            (
                .fetchedProperties,
                "<fetchedProperty name='f'><fetchRequest name='q' entity='A' resultType='2'/></fetchedProperty>",
                "fetchedProperty 'f': does not return objects, so it is left out"
            ),
            (
                .specialIndexes, "<fetchIndex name='i'><fetchIndexElement property='n' type='RTree'/></fetchIndex>",
                "fetchIndex 'i': indexes locations, which Espalier does not support"
            ),
            (
                .specialIndexes, "<fetchIndex name='i'><fetchIndexElement type='Binary'/></fetchIndex>",
                "fetchIndex 'i': indexes an expression, which Espalier does not support"
            ),
            (
                .transientRelationships,
                "<relationship name='r' optional='YES' transient='YES' maxCount='1' destinationEntity='A'/>",
                "relationship 'r': is transient, but Espalier stores every relationship"
            ),
        ] as [(ModelFeature, String, String)])
    func `what Espalier does not do is refused by name, unless the application can do without`(
        feature: ModelFeature, part: String, message: String
    ) throws {
        let xml = "<model><entity name='A'>\n\(part)</entity></model>"
        let document = try ModelDocument(xml: Data(xml.utf8), path: "f")
        let error = try #require(throws: ModelFileError.self) { try ManagedObjectModel(document) }

        #expect(error.problems.map(\.kind) == [.unsupported(feature)])
        #expect(error.description == "f: line 2: entity 'A', \(message)")
        #expect(try ManagedObjectModel(document, ignoring: [feature]).entities.count == 1)
        #expect(try ModelDocument(xml: document.xml()) == document)
        for other in ModelFeature.allCases where other != feature {
            #expect(throws: ModelFileError.self) { try ManagedObjectModel(document, ignoring: [other]) }
        }
    }

    @Test(arguments: ["9.0", "2", "1.1", "0.9", "next"])
    func `a file of another format is refused by name, unless the application can do without`(version: String) throws {
        let xml = "<?xml version='1.0'?>\n<model documentVersion='\(version)'><entity name='A'/></model>"
        let document = try ModelDocument(xml: Data(xml.utf8), path: "f")
        let error = try #require(throws: ModelFileError.self) { try ManagedObjectModel(document) }

        #expect(error.problems.map(\.kind) == [.unsupported(.documentVersion)])
        #expect(
            error.description == "f: line 2: model: documentVersion=\"\(version)\" names a format that Espalier does "
                + "not know, so the words of the file may have another meaning; save the model in format 1.0")
        #expect(try ManagedObjectModel(document, ignoring: [.documentVersion]).entities.count == 1)
        #expect(try ModelDocument(xml: document.xml()).root["documentVersion"] == version)
    }

    @Test(arguments: [" documentVersion='1.0'", " documentVersion='1'", " documentVersion=''", ""])
    func `the known format, and a file that names none, are read`(version: String) throws {
        #expect(try conversion("<model\(version)><entity name='A'/></model>").unsupported.isEmpty)
    }

    @Test func `words that another format may have are reported after the format`() throws {
        let xml = "<model documentVersion='9.0'><gadget/></model>"
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(xml: Data(xml.utf8), path: "f") }

        #expect(error.problems.map(\.kind) == [.unsupported(.documentVersion), .unknownElement])
    }

    @Test func `fetched properties and large values outside are read, written and made classes (FR-24, MD-22)`() throws
    {
        let xml = """
            <model><entity name='A'><attribute name='n' optional='YES' attributeType='String'/>
            <attribute name='scan' optional='YES' attributeType='Binary' allowsExternalBinaryDataStorage='YES'/>
            <fetchedProperty name='f' optional='YES'><fetchRequest name='q' entity='A' fetchLimit='3' \
            predicateString='n == $FETCH_SOURCE.n' includeSubentities='NO'/>
            <userInfo><entry key='k' value='v'/></userInfo></fetchedProperty></entity></model>
            """
        let model = try ManagedObjectModel(try ModelDocument(xml: Data(xml.utf8)))
        let entity = try #require(model.entity(named: "A"))

        #expect(
            entity.fetchedProperties == [
                FetchedPropertyDescription(
                    "f", of: "A", predicateFormat: "n == $FETCH_SOURCE.n", fetchLimit: 3, includesSubentities: false,
                    userInfo: ["k": "v"])
            ])
        #expect(entity.attributes.map(\.description.allowsExternalBinaryDataStorage) == [false, true])
        let again = try ManagedObjectModel(try ModelDocument(xml: try ModelDocument(model).xml()))
        #expect(again.descriptions == model.descriptions)
        let wrong = xml.replacing("$FETCH_SOURCE.n'", with: "$FETCH_SOURCE.m'")
        let error = try #require(throws: ModelFileError.self) {
            try ManagedObjectModel(try ModelDocument(xml: Data(wrong.utf8), path: "f"))
        }
        #expect(error.description.hasPrefix("f: line 3: entity 'A', fetchedProperty 'f'"), "\(error)")
        let sorted = try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "A", attributes: [AttributeDescription("n", .string)],
                    fetchedProperties: [FetchedPropertyDescription("f", of: "A", sortedBy: [.init("n")])])
            ])
        #expect(throws: ModelFileError.self) { try ModelDocument(sorted) }
    }

    @Test func `a request that gives no objects is left out if the application can do without`() throws {
        let xml = "<model><entity name='A'/><fetchRequest name='q' entity='A' resultType='2'/></model>"
        let document = try ModelDocument(xml: Data(xml.utf8), path: "f")

        #expect(try document.conversion().unsupportedFeatures == [.requestResults])
        #expect(try ManagedObjectModel(document, ignoring: [.requestResults]).fetchRequestTemplates.isEmpty)
    }

    @Test func `an attribute that is derived in an unknown way may be empty, for nothing computes it`() throws {
        let xml = "<model><entity name='A'><attribute name='n' attributeType='String' derived='YES'/></entity></model>"

        #expect(try conversion(xml).entities[0].attributes == [AttributeDescription("n", .string, isOptional: true)])
    }

    @Test func `many problems of one feature do not hide another feature`() throws {
        let rules = (0..<200).map { "<attribute name='a\($0)' attributeType='UUID' minValueString='1'/>" }.joined()
        let conversion = try conversion(
            "<model><entity name='A'>\(rules)<attribute name='b' attributeType='String' derived='YES'/>"
                + "</entity></model>"
        )

        #expect(conversion.unsupportedFeatures == [.validationRules, .derivedAttributes])
        #expect(conversion.unsupported.count == 101)
    }

    @Test func `a model made in code has a document in the editor's layout`() throws {
        let model = try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "Album",
                    attributes: [
                        AttributeDescription(
                            "title", .string, isOptional: false, defaultValue: .string(""), isIndexed: true)
                    ],
                    relationships: [
                        RelationshipDescription("artist", to: "Artist", inverse: "albums", isOptional: false)
                    ], uniquenessConstraints: [["title", "artist"]]),
                EntityDescription(
                    "Artist",
                    relationships: [
                        RelationshipDescription(
                            "albums", to: "Album", inverse: "artist", .ordered, deleteRule: .cascade)
                    ]),
            ], versionIdentifiers: ["1"])

        #expect(
            String(decoding: try ModelDocument(model).xml(), as: UTF8.self) == """
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" \
                lastSavedToolsVersion="22522" systemVersion="23G93" minimumToolsVersion="Automatic" \
                sourceLanguage="Swift" userDefinedModelVersionIdentifier="1">
                    <entity name="Album" syncable="YES">
                        <attribute name="title" attributeType="String" defaultValueString="" indexed="YES"/>
                        <relationship name="artist" maxCount="1" deletionRule="Nullify" destinationEntity="Artist" \
                inverseName="albums" inverseEntity="Artist"/>
                        <uniquenessConstraints>
                            <uniquenessConstraint>
                                <constraint value="title"/>
                                <constraint value="artist"/>
                            </uniquenessConstraint>
                        </uniquenessConstraints>
                    </entity>
                    <entity name="Artist" syncable="YES">
                        <relationship name="albums" optional="YES" toMany="YES" deletionRule="Cascade" ordered="YES" \
                destinationEntity="Album" inverseName="artist" inverseEntity="Album"/>
                    </entity>
                </model>
                """)
    }

    @Test func `derived attributes and indexes of every kind come back from a file, and as classes (MD-27, FR-25)`()
        throws
    {
        let album = EntityDescription(
            "Album",
            attributes: [
                AttributeDescription("title", .string),
                AttributeDescription("plain", .string, derivation: .canonical(of: "title")),
                AttributeDescription("label", .string, derivation: .value(of: "artist.name")),
                AttributeDescription(
                    "long", .integer64, isOptional: false, derivation: .count(of: "tracks", where: "seconds > 200")),
                AttributeDescription(
                    "seconds", .integer64, isIndexed: true, derivation: .sum(of: "seconds", in: "tracks")),
                AttributeDescription("changed", .date, derivation: .now),
            ],
            relationships: [
                RelationshipDescription("artist", to: "Artist", inverse: "albums"),
                RelationshipDescription("tracks", to: "Track", inverse: "album", .toMany),
            ],
            indexes: [
                .init(
                    "folded",
                    on: [.init("title", isAscending: false, folding: [.caseInsensitive, .diacriticInsensitive])],
                    predicateFormat: "seconds > 0")
            ])
        let model = try ManagedObjectModel(entities: [
            album,
            EntityDescription(
                "Artist", attributes: [AttributeDescription("name", .string)],
                relationships: [RelationshipDescription("albums", to: "Album", inverse: "artist", .toMany)]),
            EntityDescription(
                "Track", attributes: [AttributeDescription("seconds", .integer32)],
                relationships: [RelationshipDescription("album", to: "Album", inverse: "tracks")]),
        ])

        let xml = try ModelDocument(model).xml()
        let again = try ManagedObjectModel(ModelDocument(xml: xml))
        let source = try EntityClassSource(model, origin: "a test").text

        #expect(again.descriptions == model.descriptions)
        let text = String(decoding: xml, as: UTF8.self)
        #expect(text.contains("derived=\"YES\" derivationExpression=\"canonical:(title)\""))
        #expect(
            text.contains("partialIndexPredicate=\"seconds &gt; 0\"")
                || text.contains("partialIndexPredicate=\"seconds > 0\""))
        #expect(source.contains("@Attribute(.derived(.canonical(of: \\Album.title))) var plain: String?"))
        #expect(source.contains("@Attribute(.derived(.value(of: \\Album.artist?.name))) var label: String?"))
        #expect(source.contains(".derived(.count(of: \\Album.tracks, where: \"seconds > 200\"))"))
        #expect(source.contains(".derived(.sum(of: \\Track.seconds, in: \\Album.tracks))"))
        #expect(
            source.contains("folding: [.caseInsensitive, .diacriticInsensitive])], predicateFormat: \"seconds > 0\")"))
    }

    @Test func `models at random come back from their files as they were`() throws {
        let seed = testSeed(default: 17)
        for round in 0..<UInt64(campaignCount("ESPALIER_MODEL_ROUNDS", default: 200)) {
            var random = RandomModels(seed: seed &+ round)
            let model = try random.model()
            let document = try ModelDocument(model)
            let read = try ModelDocument(xml: try document.xml())
            let again = try ManagedObjectModel(read)

            #expect(read == document, "seed \(seed &+ round)")
            #expect(again.descriptions == model.descriptions, "seed \(seed &+ round)")
            #expect(again.configurations == model.configurations, "seed \(seed &+ round)")
            #expect(again.fetchRequestTemplates == model.fetchRequestTemplates, "seed \(seed &+ round)")
            #expect(again.versionIdentifiers == model.versionIdentifiers, "seed \(seed &+ round)")
        }
    }

    @Test func `what files have no words for is refused with entity and attribute`() throws {
        let model = try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "A",
                    attributes: [
                        AttributeDescription("b", .binary, defaultValue: .binary(Data([1]))),
                        AttributeDescription("o", .objectID, isTransient: true),
                        AttributeDescription("n", .decimal, defaultValue: .decimal(.nan)),
                    ])
            ], versionIdentifiers: ["1", "2"])
        let error = try #require(throws: ModelFileError.self) { try ModelDocument(model, path: "f") }

        #expect(
            error.problems.map(\.description) == [
                "model: has 2 version identifiers, but a file can have only one",
                "entity 'A', attribute 'b': has a default of type binary that model files cannot express; "
                    + "set it in code",
                "entity 'A', attribute 'o': has type objectID, for which model files have no name",
                "entity 'A', attribute 'n': has a default of type decimal that model files cannot express; "
                    + "set it in code",
            ])
    }
}
