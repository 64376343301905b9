// Swift values of properties as a store keeps them, for batch requests, which have no object to convert them.

import EspalierModel

extension Entity {
    /// The stored form of a Swift value of a property: of any type that a property of an `@Entity` class can have.
    func value(of any: Any, for property: Property) throws(AssignmentError) -> AttributeValue {
        guard let content = QueryConstant.unwrapped(any) else { return .null }
        guard case .attribute(let slot) = property else { return try constant(content, of: property) }
        let attribute = attributes[slot]
        guard attribute.type == .transformable, !(content is AttributeValue),
            let transformer = attribute.description.valueTransformerName
        else { return try constant(content, of: property) }
        do throws(AttributeTransformerError) {
            guard transformer == AttributeTransformers.codableName, let value = content as? any Encodable else {
                return .transformable(try AttributeTransformers.data(from: content, by: transformer))
            }
            return .transformable(try CodableForm.data(from: value))
        } catch {
            throw AssignmentError(self, attribute.name, .unfit("\(error)"))
        }
    }

    private func constant(_ content: Any, of property: Property) throws(AssignmentError) -> AttributeValue {
        if let raw = content as? any RawRepresentable, !(content is any AttributeConvertible) {
            return try constant(raw.rawValue, of: property)
        }
        do {
            return try QueryConstant.value(content)
        } catch {
            throw AssignmentError(self, name(of: property), .unfit("\(error.expression): \(error.reason)"))
        }
    }

    private func name(of property: Property) -> String {
        switch property {
        case .attribute(let slot): attributes[slot].name
        case .relationship(let slot): relationships[slot].name
        }
    }
}
