// Names and messages of a model in several languages (MD-07).

import Espalier
import EspalierModel
import Testing

@Suite struct ModelLanguageTests {
    /// A person, and an artist who inherits the name with its rule.
    private static func model(_ tables: [String: MessageTable], _ language: String?) throws -> ManagedObjectModel {
        let person = EntityDescription(
            "Person", isAbstract: true,
            attributes: [
                AttributeDescription(
                    "name", .string, isOptional: false,
                    validationRules: [ValidationRule(.maximumLength(3), message: "too long")])
            ])
        let artist = EntityDescription(
            "Artist", superentity: "Person",
            attributes: [
                AttributeDescription(
                    "rank", .integer16, validationRules: [ValidationRule(.maximum(.integer(5)))])
            ])
        return try ManagedObjectModel(entities: [person, artist]).localized(tables, language: language)
    }

    private static func tables() throws -> [String: MessageTable] {
        [
            "de": try MessageTable(localizationDictionary: [
                "Entity/Artist": "Künstler", "Property/name/Entity/Person": "Name", "Property/rank": "Rang",
                "ErrorString/too long": "{property} ist zu lang (mehr als {limit})",
                "ErrorString/1570": "{entity}: {property} fehlt",
            ]),
            "fr": try MessageTable(localizationDictionary: ["Property/name/Entity/Artist": "nom"]),
        ]
    }

    /// The violations of an artist without a name and with rank 9, and of one with a long name.
    private func violations(_ model: ManagedObjectModel) throws -> [Violation] {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        let context = ManagedObjectContext(coordinator)
        let artist = try context.insertNewObject(forEntityName: "Artist")
        try artist.setValue(.integer(9), forKey: "rank")
        try context.insertNewObject(forEntityName: "Artist").setValue(.string("Nina"), forKey: "name")
        do throws(ContextError) { try context.save() } catch {
            guard case .violations(let found) = error else { throw error }
            #expect(error.description.contains(found[0].description))
            return found
        }
        return []
    }

    @Test func `descriptions of violations have the names and messages of the model's language (MD-07)`() throws {
        let found = try violations(Self.model(Self.tables(), "de-AT"))
        try #require(found.count == 3)
        #expect(found[0].description == "Künstler: Name fehlt")
        #expect(found[1].description.hasPrefix("Künstler.Rang of "))
        #expect(found[1].description.hasSuffix("the value must be one that is at most 5"))
        #expect(found[2].description == "Name ist zu lang (mehr als 3)")
        // Programs go on by the names of the model.
        #expect(found.allSatisfy { $0.entityName == "Artist" } && found[0].property == "name")
    }

    @Test func `without a language descriptions are those of the model, and any language can be asked for (MD-07)`()
        throws
    {
        let model = try Self.model(Self.tables(), nil)
        let found = try violations(model)
        #expect(found[0].description.hasPrefix("Artist.name of ") && found[2].description.hasSuffix("too long"))
        let french = try #require(model.messageTable(in: "fr_CA"))
        #expect(found[0].message(french).hasPrefix("Artist.nom of "))
        #expect(found[0].message(try #require(model.messageTable(in: "de"))) == "Künstler: Name fehlt")
        #expect(model.messageTable(in: "it") == nil && model.localizationDictionary == nil)
    }

    @Test func `the dictionary with Core Data's keys comes back as it was (MD-07)`() throws {
        let dictionary = [
            "Entity/Artist": "Künstler", "Property/name/Entity/Person": "Name", "Property/rank": "Rang",
            "ErrorString/too long": "zu lang", "ErrorString/a/b": "a oder b", "ErrorString/1570": "fehlt",
            "Remedy/1570": "setzen",
        ]
        let table = try MessageTable(localizationDictionary: dictionary)
        #expect(table.localizationDictionary == dictionary && table.texts == [1570: "fehlt"])
        #expect(table.remedies == [1570: "setzen"])
        #expect(try Self.model(["de": table], "de").localizationDictionary == dictionary)
    }

    @Test func `keys of no form, names that the model does not have and a language without a table are named`() throws {
        #expect(
            problems {
                _ = try MessageTable(localizationDictionary: [
                    "Entitiy/A": "", "Property/a/Entity/": "", "Entity/": "", "ErrorString/": "", "Entity/A": "",
                ])
            }.map { $0.contains("the key '") } == [true, true, true, true])
        let table = MessageTable(names: ["Ghost": "", "Artist.ghost": "", ".ghost": "", "Artist.name": ""])
        let found = problems { _ = try Self.model(["de": table], "it") }
        #expect(found.count == 4 && found.last?.contains("'it'; there are: de") == true)
        #expect(found.dropLast().allSatisfy { $0.contains("ghost") || $0.contains("Ghost") })
    }

    @Test func `languages change no hash, are merged, and different texts for one key are refused`() throws {
        let (plain, german) = (try Self.model([:], nil), try Self.model(Self.tables(), "de"))
        #expect(plain.entityVersionHashesByName == german.entityVersionHashesByName)
        #expect(plain.versionChecksum == german.versionChecksum)
        let other = try Self.model(["de": MessageTable(names: ["Artist.rank": "Stufe"])], nil)
        let merged = try ManagedObjectModel(byMerging: [german, other])
        #expect(merged.language == "de" && merged.messages(in: "de", "Artist", "rank") == "Stufe")
        let rival = try Self.model(["de": MessageTable(names: ["Artist": "Maler"])], nil)
        #expect(
            problems { _ = try ManagedObjectModel(byMerging: [german, rival]) }.first?.contains("'Artist'") == true)
    }

    private func problems(_ body: () throws -> Void) -> [String] {
        do { try body() } catch { return (error as? ModelError)?.problems.map(\.message) ?? ["\(error)"] }
        return []
    }
}

extension ManagedObjectModel {
    fileprivate func messages(in language: String, _ entity: String, _ property: String) -> String? {
        messageTable(in: language)?.name(ofProperty: property, entity: entity)
    }
}
