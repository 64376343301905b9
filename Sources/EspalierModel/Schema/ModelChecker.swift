// Finds everything that is wrong with a set of entity descriptions.

struct ModelChecker {
    private let descriptions: [EntityDescription]

    init(_ descriptions: [EntityDescription]) { self.descriptions = descriptions }

    func problems() -> [ModelError.Problem] { [] }
}
