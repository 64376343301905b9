// Builds the document of a compiled model: the elements of the editor's file, as far as the compiler kept them.
//
// Invariants
//   1. A field with an unknown name is not dropped: it becomes an attribute of that name. Model files have no such
//      attribute, so making a model of the document is refused by name (ModelFeature.unknownAttributes).
//   2. Each object is read at its owner, and back references are used for names only, so cycles are not followed.
//   3. Work is bounded: an object that is referenced several times counts each time, and so do its texts by their
//      length, before anything is done with them. Once the budget is gone, nothing more is read. Of texts that are
//      joined only the beginnings of the first ones are kept, and of equal texts only one is compared with others.
//   4. Entities and properties are sorted by name, because the archive keeps no other order.

import EspalierModel

struct CompiledModelReader {
    private let archive: KeyedArchive
    private(set) var problems: [ModelFileError.Problem] = []
    /// The remaining number of fields, entries and parts of texts that may be read.
    private var budget = 1_000_000
    /// The maximum number of texts that are joined.
    private static let textCountMax = 100
    /// The composites that attributes list the parts of, in the order in which they were found.
    private var composites: [ModelElement] = []
    /// The names of the composites by the number of the list, because several attributes may share one list.
    private var compositeNames: [Int: String] = [:]
    private var usedCompositeNames: Set<String> = []
    /// The number of composites around the attribute that is being read.
    private var compositeDepth = 0

    init(_ archive: KeyedArchive) { self.archive = archive }

    /// The element `model`; `nil` if the archived object is not a model.
    mutating func root() -> ModelElement? {
        guard let model = archive.object(archive.root), model.className == "NSManagedObjectModel" else { return nil }
        var root = ModelElement(.model)
        let identifiers = archive.items(model.fields["NSVersionIdentifiers"]).compactMap { archive.text($0) }
        let requests = archive.entries(model.fields["NSFetchRequestTemplates"]).compactMap { archive.text($0.key) }
        let texts = Self.textParts(in: identifiers) + Self.textParts(in: requests)
        guard spend(parts(in: model) + requests.count + identifiers.count + texts, on: root) else { return nil }
        if identifiers.count > 1 {
            report("model", "has \(identifiers.count) version identifiers, but a document can have only one")
        }
        root["userDefinedModelVersionIdentifier"] = identifiers.min() ?? ""
        if !requests.isEmpty {
            let names = requests.map(\.shortened).sorted().prefix(Self.textCountMax)
            let more = requests.count > names.count ? ["…"] : []
            root["NSFetchRequestTemplates"] = (names + more).joined(separator: ", ")
        }
        keepUnknown(model, in: &root, known: ["NSEntities", "NSFetchRequestTemplates", "NSVersionIdentifiers"])
        let entities = archive.entries(model.fields["NSEntities"]).compactMap { archive.object($0.value) }
        guard entities.count <= XMLReader.childCountMax else {
            problems.append(
                .init(
                    .tooLarge, element: "model",
                    "the model has \(entities.count) entities; at most \(XMLReader.childCountMax) are allowed"))
            return nil
        }
        let names = entities.map { archive.text($0.fields["NSEntityName"]) ?? "" }
        for place in order(of: names, on: root) {
            guard budget >= 0 else { break }
            root.children.append(entity(entities[place], name: names[place]))
        }
        guard root.children.count + composites.count <= XMLReader.childCountMax else {
            problems.append(
                .init(
                    .tooLarge, element: "model",
                    "the model has \(composites.count) composites beside its entities; together at most "
                        + "\(XMLReader.childCountMax) are allowed"))
            return nil
        }
        root.children += composites
        return root
    }

    private mutating func entity(_ object: KeyedArchive.Object, name: String) -> ModelElement {
        let fields = object.fields
        var element = ModelElement(.entity, [.init("name", name)])
        guard spend(parts(in: object), on: element) else { return element }
        element["representedClassName"] = archive.text(fields["NSClassNameForEntity"])
        if fields["NSIsAbstract"] == .boolean(true) { element["isAbstract"] = "YES" }
        element["parentEntity"] = archive.object(fields["NSSuperentity"]).flatMap {
            archive.text($0.fields["NSEntityName"])
        }
        nameFormerly(object, name: name, in: &element)
        keepUnknown(
            object, in: &element,
            known: [
                "NSEntityName", "NSClassNameForEntity", "NSIsAbstract", "NSSuperentity", "NSSubentities",
                "NSManagedObjectModel", "NSProperties", "NSRenamingIdentifier", "NSVersionHashModifier", "NSUserInfo",
                "NSFetchIndexDescriptions", "NSCompoundIndexes", "NSUniqueTuples",
            ])
        let inherited = inheritedNames(of: object, element)
        let entries = archive.entries(fields["NSProperties"])
        let names = entries.map { archive.text($0.key) }
        guard spend(entries.count + Self.textParts(in: names.compactMap(\.self)), on: element) else { return element }
        let properties = zip(names, entries).compactMap { name, entry -> (name: String, object: KeyedArchive.Object)? in
            guard let name, !inherited.contains(name) else { return nil }
            return archive.object(entry.value).map { (name, $0) }
        }
        for place in order(of: properties.map(\.name), on: element) {
            guard budget >= 0 else { return element }
            let (propertyName, property) = properties[place]
            element.children.append(self.property(property, name: propertyName, of: name))
        }
        // Older compilers wrote indexes over several properties in `NSCompoundIndexes` only.
        if let indexes = fields["NSFetchIndexDescriptions"] {
            element.children += items(indexes, on: element).compactMap { index($0) }
        } else {
            let lists = items(fields["NSCompoundIndexes"], on: element).map { self.names(in: $0, .index) }
            let groups = lists.map { ModelElement(.compoundIndex, children: $0) }
            if !groups.isEmpty { element.children.append(ModelElement(.compoundIndexes, children: groups)) }
        }
        let constraints = items(fields["NSUniqueTuples"], on: element).map {
            ModelElement(.uniquenessConstraint, children: self.names(in: $0, .constraint))
        }
        if !constraints.isEmpty { element.children.append(ModelElement(.uniquenessConstraints, children: constraints)) }
        keepUserInfo(object, in: &element)
        return element
    }

    /// The names of inherited properties: it depends on the compiler whether an entity repeats them.
    private mutating func inheritedNames(of entity: KeyedArchive.Object, _ element: ModelElement) -> Set<String> {
        var names: Set<String> = []
        var line: Set<Int> = [entity.number]
        var above = archive.object(entity.fields["NSSuperentity"])
        while let next = above, line.insert(next.number).inserted, line.count <= ModelConverter.inheritanceDepthMax {
            let entries = archive.entries(next.fields["NSProperties"])
            let inherited = entries.compactMap { archive.text($0.key) }
            guard spend(1 + entries.count + Self.textParts(in: inherited), on: element) else { return [] }
            names.formUnion(inherited)
            above = archive.object(next.fields["NSSuperentity"])
        }
        return names
    }

    private mutating func property(_ object: KeyedArchive.Object, name: String, of entity: String) -> ModelElement {
        var element = ModelElement(.attribute, [.init("name", name)])
        guard spend(parts(in: object), on: element) else { return element }
        var known: Set = [
            "_P", "NSEntity", "NSPropertyName", "NSRenamingIdentifier", "NSIsOptional", "NSIsTransient", "NSIsIndexed",
            "NSUserInfo", "NSVersionHashModifier",
        ]
        switch object.className {
        case "NSRelationshipDescription":
            element = relationship(object, name: name)
            known.formUnion([
                "NSDestinationEntity", "_NSDestinationEntityName", "NSInverseRelationship",
                "_NSInverseRelationshipName",
                "NSDeleteRule", "NSMinCount", "NSMaxCount", "NSIsOrdered", "NSValidationPredicates",
                "NSValidationWarnings",
            ])
            let list = archive
            readRules(object.fields, into: &element) { CompiledRule($0, ofRelationship: object.fields, in: list) }
        case "NSFetchedPropertyDescription": element = ModelElement(.fetchedProperty, [.init("name", name)])
        default:
            element = attribute(object, name: name, of: entity)
            known.formUnion([
                "NSAttributeType", "NSAttributeValueClassName", "NSDefaultValue", "NSValueTransformerName",
                "NSValidationPredicates", "NSValidationWarnings",
            ])
            if readFlags(object.fields["NSFlagsKey"], into: &element) { known.insert("NSFlagsKey") }
            if element["attributeType"] == AttributeType.composite.modelFileName,
                let parts = composite(object, name: name, of: entity)
            {
                element["composite"] = parts.name
                known.insert(parts.field)
            }
        }
        if object.fields["NSIsOptional"] == .boolean(true) { element["optional"] = "YES" }
        if object.fields["NSIsTransient"] == .boolean(true) { element["transient"] = "YES" }
        nameFormerly(object, name: name, in: &element)
        keepUnknown(object, in: &element, known: known)
        keepUserInfo(object, in: &element)
        return element
    }

    /// Reads the flags of an attribute that do not have a field of their own; `false` if there are unknown ones.
    private func readFlags(_ field: KeyedArchive.Value?, into element: inout ModelElement) -> Bool {
        let (isExternal, isPreserved): (Int64, Int64) = (4, 16)
        guard case .integer(let flags)? = field else { return false }
        if flags & isExternal != 0 { element["allowsExternalBinaryDataStorage"] = "YES" }
        if flags & isPreserved != 0 { element["preserveAfterDeletion"] = "YES" }
        return flags & ~(isExternal | isPreserved) == 0
    }

    private mutating func attribute(_ object: KeyedArchive.Object, name: String, of entity: String) -> ModelElement {
        let fields = object.fields
        var element = ModelElement(.attribute, [.init("name", name)])
        var type = AttributeType.undefined
        if case .integer(let code)? = fields["NSAttributeType"] {
            if let known = UInt16(exactly: code).flatMap(AttributeType.init), known.modelFileName != nil {
                type = known
            } else {
                report(
                    "entity '\(entity.shortened)', attribute '\(name.shortened)'",
                    "has the type \(code), for which model files have no name")
            }
        }
        element["attributeType"] = type.modelFileName
        element["valueTransformerName"] = archive.text(fields["NSValueTransformerName"])
        if fields["NSIsIndexed"] == .boolean(true) { element["indexed"] = "YES" }
        if let value = fields["NSDefaultValue"] {
            if let text = defaultText(value, type) {
                element[type == .date ? "defaultDateTimeInterval" : "defaultValueString"] = text
            } else {
                element["NSDefaultValue"] = archive.object(value)?.className ?? "?"
            }
        }
        let list = archive
        readRules(fields, into: &element) { CompiledRule($0, of: type, in: list) }
        if object.className == "NSDerivedAttributeDescription" {
            element["derived"] = "YES"
        } else if object.className != "NSAttributeDescription",
            type != .composite || object.className != "NSCompositeAttributeDescription"
        {
            element["class"] = object.className
        }
        return element
    }

    /// Adds the composite whose parts an attribute lists; `nil` if the archive does not list them.
    ///
    /// No real archive with a composite is known, and so the name of the field is not either: the parts are the list
    /// whose items are descriptions of attributes.
    private mutating func composite(
        _ object: KeyedArchive.Object, name attribute: String, of owner: String
    ) -> (field: String, name: String)? {
        let place = ModelElement(.attribute, [.init("name", attribute)])
        guard compositeDepth < ModelConverter.compositeDepthMax,
            spend(Self.textParts(in: [owner, attribute]), on: place)
        else { return nil }
        for (field, value) in object.fields.sorted(by: { $0.key < $1.key }) {
            guard case .reference(let number) = value else { continue }
            if let name = compositeNames[number] { return (field, name) }
            let parts = items(value, on: place).compactMap { archive.object($0) }
            let names = parts.compactMap { archive.text($0.fields["NSPropertyName"]) }
            guard !parts.isEmpty, names.count == parts.count,
                parts.allSatisfy({ $0.className.hasSuffix("AttributeDescription") }),
                spend(Self.textParts(in: names), on: place)
            else { continue }
            var name = owner + attribute.prefix(1).uppercased() + attribute.dropFirst()
            while !usedCompositeNames.insert(name).inserted { name += "\(number)" }
            compositeNames[number] = name
            compositeDepth += 1
            var element = ModelElement(.composite, [.init("name", name)])
            for (part, partName) in zip(parts, names) where budget >= 0 {
                element.children.append(property(part, name: partName, of: name))
            }
            compositeDepth -= 1
            composites.append(element)
            return (field, name)
        }
        return nil
    }

    /// Reads the rules of a property; what no word of model files says is kept as text.
    private mutating func readRules(
        _ fields: [String: KeyedArchive.Value], into element: inout ModelElement,
        by read: (KeyedArchive.Value) -> CompiledRule
    ) {
        let predicates = archive.items(fields["NSValidationPredicates"])
        // The number of an error stands for its message; a text is a message of the application's own.
        let warnings = archive.items(fields["NSValidationWarnings"])
        guard spend(predicates.count + warnings.count, on: element) else { return }
        // An archive may name one long text a million times.
        var messages: [String] = []
        for warning in warnings where messages.count < Self.textCountMax {
            if let text = archive.text(warning) { messages.append(text.shortened) }
        }
        var unread: [String] = []
        for predicate in predicates where unread.count < Self.textCountMax {
            switch read(predicate) {
            case .implied: continue
            case .word(let word, let text) where element[word.rawValue] == nil: element[word.rawValue] = text
            case .word(let word, let text): unread.append("\(word.rawValue) \(text.shortened)")
            case .unread(let text): unread.append(text.shortened)
            }
        }
        if !unread.isEmpty { element[ModelRuleWord.validationPredicates.rawValue] = unread.joined(separator: "; ") }
        if !messages.isEmpty { element[ModelRuleWord.validationWarnings.rawValue] = messages.joined(separator: "; ") }
    }

    /// The text of a default in a model file; `nil` if the default is of a class that this reader does not know.
    private func defaultText(_ field: KeyedArchive.Value, _ type: AttributeType) -> String? {
        if type == .decimal, case .decimal? = archive.constant(field) { return archive.constant(field)?.modelFileText }
        var value = field
        if case .reference(let number) = field {
            value = archive.value(number)
            if let object = archive.object(number) {
                let parts = ["NS.time", "NS.uuidbytes", "NS.relative", "NS.string"]
                guard let part = parts.lazy.compactMap({ object.fields[$0] }).first else { return nil }
                value = archive.text(part).map { .string($0) } ?? part
            }
        }
        switch (value, type) {
        case (.boolean(let value), .boolean): return value ? "YES" : "NO"
        case (.integer(let value), .boolean) where value == 0 || value == 1: return value == 1 ? "YES" : "NO"
        case (.boolean(let value), _) where type.isNumeric: return value ? "1" : "0"
        case (.integer(let value), _) where type.isNumeric: return "\(value)"
        case (.real(let value), .date): return "\(value)"
        case (.real(let value), _) where type.isNumeric && type != .decimal: return "\(value)"
        case (.string(let value), _): return value
        case (.data(let bytes), .uuid) where bytes.count == 16:
            let digits = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            let parts = [digits[0..<4], digits[4..<6], digits[6..<8], digits[8..<10], digits[10..<16]]
            return parts.map { $0.joined() }.joined(separator: "-").uppercased()
        default: return nil
        }
    }

    private func relationship(_ object: KeyedArchive.Object, name: String) -> ModelElement {
        let fields = object.fields
        func count(_ field: String) -> Int64? { if case .integer(let count)? = fields[field] { count } else { nil } }
        var element = ModelElement(.relationship, [.init("name", name)])
        let (least, greatest) = (count("NSMinCount") ?? 0, count("NSMaxCount") ?? 0)
        if greatest != 1 { element["toMany"] = "YES" }
        if least != 0 { element["minCount"] = "\(least)" }
        if greatest != 0 { element["maxCount"] = "\(greatest)" }
        if let code = count("NSDeleteRule") {
            element["deletionRule"] = UInt8(exactly: code).flatMap(DeleteRule.init)?.modelFileName ?? "\(code)"
        }
        if fields["NSIsOrdered"] == .boolean(true) { element["ordered"] = "YES" }
        let destination =
            archive.text(fields["_NSDestinationEntityName"])
            ?? archive.object(fields["NSDestinationEntity"]).flatMap { archive.text($0.fields["NSEntityName"]) }
        let inverse =
            archive.text(fields["_NSInverseRelationshipName"])
            ?? archive.object(fields["NSInverseRelationship"]).flatMap { archive.text($0.fields["NSPropertyName"]) }
        element["destinationEntity"] = destination
        element["inverseName"] = inverse
        if inverse != nil { element["inverseEntity"] = destination }
        return element
    }

    /// An index; `nil` if it has the name of its only attribute, because that attribute's `indexed` flag implies it.
    private mutating func index(_ field: KeyedArchive.Value) -> ModelElement? {
        guard let object = archive.object(field) else { return nil }
        let name = archive.text(object.fields["NSIndexName"]) ?? ""
        var element = ModelElement(.fetchIndex, [.init("name", name)])
        let parts = archive.items(object.fields["NSIndexElements"])
        guard spend(self.parts(in: object) + parts.count, on: element) else { return nil }
        if object.fields["NSPartialIndexPredicate"] != nil { element["partialIndexPredicate"] = "?" }
        element.children = parts.compactMap { archive.object($0) }.map { part in
            var element = ModelElement(.fetchIndexElement)
            element["property"] = archive.text(part.fields["NSPropertyName"])
            if element["property"] == nil { element["expression"] = "?" }
            element["type"] = part.fields["NSFetchIndexElementType"] == .integer(0) ? "Binary" : "RTree"
            element["order"] = part.fields["NSAscending"] == .boolean(true) ? "ascending" : "descending"
            return element
        }
        return element.children.count == 1 && element.children[0]["property"] == name ? nil : element
    }

    private mutating func names(in list: KeyedArchive.Value, _ kind: ModelElement.Kind) -> [ModelElement] {
        let names = archive.items(list).compactMap { archive.text($0) }
        guard spend(1 + names.count, on: ModelElement(kind)) else { return [] }
        return names.map { ModelElement(kind, [.init("value", $0)]) }
    }

    // MARK: Common parts of entities and properties

    /// Sets the former name, if it differs, and the version hash modifier.
    private func nameFormerly(_ object: KeyedArchive.Object, name: String, in element: inout ModelElement) {
        if let former = archive.text(object.fields["NSRenamingIdentifier"]), former != name {
            element["elementID"] = former
        }
        element["versionHashModifier"] = archive.text(object.fields["NSVersionHashModifier"])
    }

    private mutating func keepUserInfo(_ object: KeyedArchive.Object, in element: inout ModelElement) {
        let texts = archive.entries(object.fields["NSUserInfo"])
        let length = Self.textParts(in: texts.compactMap { archive.text($0.value) })
        guard spend(texts.count + length, on: element) else { return }
        let entries = texts.compactMap { entry -> ModelElement? in
            guard let key = archive.text(entry.key) else { return nil }
            guard let value = archive.text(entry.value) else {
                report(element.label, "has a user info value under '\(key.shortened)' that is not text")
                return nil
            }
            return ModelElement(.entry, [.init("key", key), .init("value", value)])
        }
        let sorted = order(of: entries.map { $0["key"] ?? "" }, on: element).map { entries[$0] }
        if !sorted.isEmpty { element.children.append(ModelElement(.userInfo, children: sorted)) }
    }

    /// Keeps the names of fields that this reader does not know.
    private mutating func keepUnknown(
        _ object: KeyedArchive.Object, in element: inout ModelElement, known: Set<String>
    ) {
        let names = object.fields.keys.filter { !known.contains($0) }
        guard names.count <= XMLReader.childCountMax else {
            guard problems.count < ModelElementChecker.problemCountMax else { return }
            problems.append(
                .init(
                    .tooLarge, element: element.label,
                    "has \(names.count) fields with unknown names; at most \(XMLReader.childCountMax) are allowed"))
            return
        }
        // An element finds its attributes one after the other, so they are looked up in a table.
        let present = Set(element.attributes.map(\.name))
        for name in names.sorted() where !present.contains(name) {
            let field = object.fields[name]
            // An empty list has no effect, so it is not kept.
            if let list = archive.object(field), list.fields["NS.objects"] == .array([]) { continue }
            if field == .boolean(false) { continue }
            element.attributes.append(.init(name, "?"))
        }
    }

    // MARK: The budget

    /// The items of a list, which count; none if the budget is gone.
    private mutating func items(_ list: KeyedArchive.Value?, on element: ModelElement) -> [KeyedArchive.Value] {
        guard budget >= 0 else { return [] }
        let items = archive.items(list)
        return spend(items.count, on: element) ? items : []
    }

    /// The places of texts in their order, each place once; none if the texts are too long for the budget.
    ///
    /// - Complexity: O(bytes of the texts + bytes of different texts * log(texts)).
    private mutating func order(of texts: [String], on element: ModelElement) -> [Int] {
        guard spend(Self.textParts(in: texts), on: element) else { return [] }
        let ranks = Dictionary(uniqueKeysWithValues: Set(texts).sorted().enumerated().map { ($1, $0) })
        let numbered = texts.enumerated().map { (place: $0, rank: ranks[$1] ?? 0) }
        return numbered.sorted { ($0.rank, $0.place) < ($1.rank, $1.place) }.map(\.place)
    }

    /// The parts as which texts count: to compare, to hash and to copy them takes as long as they are.
    private static func textParts(in texts: some Sequence<String>) -> Int {
        texts.reduce(0) { $0 + $1.utf8.count / 64 }
    }

    /// The parts as which an object counts, with its fields and their texts.
    private func parts(in object: KeyedArchive.Object) -> Int {
        object.fields.reduce(1) { sum, field in
            sum + 1 + field.key.utf8.count / 64 + (archive.text(field.value)?.utf8.count ?? 0) / 64
        }
    }

    /// Subtracts `count` from the budget; reports a problem if the budget is exceeded.
    private mutating func spend(_ count: Int, on element: ModelElement) -> Bool {
        guard budget >= 0 else { return false }
        budget -= count
        if budget < 0 { problems.append(.init(.tooLarge, element: element.label, "the archive has too many parts")) }
        return budget >= 0
    }

    private mutating func report(_ element: String, _ message: String) {
        guard problems.count < ModelElementChecker.problemCountMax else { return }
        problems.append(ModelFileError.Problem(.unsupported(.unknownAttributes), element: element, message))
    }
}
