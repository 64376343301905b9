// Mappings that a file describes, bound to the hooks of the application.

public import EspalierModel
internal import FoundationEssentials

extension MappingModel {
    /// The mappings of a description, such as that of a mapping file.
    ///
    ///     let file = try MappingDescription(contentsOf: url)      // EspalierModelFile
    ///     let mappings = try MappingModel(file, policies: ["SongPolicy": SongPolicy()])
    ///
    /// A mapping without a destination is left out: its objects are refused as a loss, by the name of their entity,
    /// unless `removal(of:)` allows it. Add to `EntityMapping.reading` what a policy reads. A property that the file
    /// does not map continues the one that it had before, by its name or renaming identifier; such a property has no
    /// rule, and so no texts.
    ///
    /// - Parameters:
    ///   - policies: the hooks by the names of classes that the description has.
    ///   - replacements: sources for properties whose expressions have no form here, by `MAPPING.PROPERTY`.
    /// - Throws: `MappingError.unsupportedExpression`, `.missingPolicy`, `.invalidPredicate`, each with the remedy.
    public init(
        _ description: MappingDescription, policies: [String: any EntityMigrationPolicy] = [:],
        replacing replacements: [String: PropertyMapping] = [:]
    ) throws(MappingError) {
        var mappings: [EntityMapping] = []
        for entity in description.entityMappings {
            guard let destination = entity.destinationEntityName else { continue }
            if let expression = entity.sourceExpression {
                throw .unsupportedExpression(mapping: entity.name, property: nil, expression: expression)
            }
            var rules: [PropertyMapping] = []
            for property in entity.propertyMappings {
                if let replacement = replacements["\(entity.name).\(property.name)"] {
                    rules.append(replacement)
                } else if let rule = try PropertyMapping(property, of: entity) {
                    rules.append(rule)
                }
            }
            var mapping = EntityMapping(
                entity.sourceEntityName, to: destination, where: try Self.predicate(of: entity), rules,
                name: entity.name, policy: try Self.policy(of: entity, policies))
            mapping.userInfo = entity.userInfo
            mappings.append(mapping)
        }
        self.init(mappings)
    }

    private static func predicate(of entity: EntityMappingDescription) throws(MappingError) -> FetchPredicate? {
        guard let format = entity.predicateFormat else { return nil }
        do throws(FetchPredicateError) { return try FetchPredicate(format: format) } catch {
            throw .invalidPredicate(mapping: entity.name, error)
        }
    }

    private static func policy(
        of entity: EntityMappingDescription, _ policies: [String: any EntityMigrationPolicy]
    ) throws(MappingError) -> any EntityMigrationPolicy {
        guard let name = entity.policyClassName else { return PlainMigrationPolicy() }
        guard let policy = policies[name] else {
            throw .missingPolicy(mapping: entity.name, className: name, known: policies.keys.sorted())
        }
        return policy
    }
}

extension PropertyMapping {
    /// The rule that a description states; `nil` = none.
    fileprivate init?(
        _ property: PropertyMappingDescription, of entity: EntityMappingDescription
    ) throws(MappingError) {
        let name = property.name
        switch property.source {
        case .sameName: return nil
        case .keyPath(let path): self = .copy(name, from: path)
        case .constant(let value): self = .constant(name, value)
        case .now: self = .computed(name, reading: []) { _, _ in .attribute(.date(Date())) }
        case .following(let path, let mapping): self = .following(name, path, through: mapping)
        case .made(let mapping): self = .made(name, by: mapping)
        case .expression(let text):
            throw .unsupportedExpression(mapping: entity.name, property: name, expression: text)
        }
        userInfo = property.userInfo
    }
}
