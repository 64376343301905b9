// References that retain nothing: in a debug build a use after the end of their object stops the program at that place,
// not where the effect shows.

#if DEBUG
    import EspalierModel
    import Testing

    @testable import Espalier

    @Suite struct UnretainedTests {
        private static func model() throws -> ManagedObjectModel {
            try ManagedObjectModel(entities: [
                EntityDescription("Note", attributes: [AttributeDescription("number", .integer64)])
            ])
        }

        @Test func `a reference finds its object, and can be compared after the object has ended`() {
            var cohort: Cohort? = Cohort([], cache: RowCache())
            let (reference, same) = (Unretained(cohort), Unretained(cohort))

            #expect(reference.object === cohort && !reference.isNil)
            #expect(reference.withObject { $0 === cohort } == true)

            cohort = nil

            #expect(reference.isSame(as: same) && !reference.isSame(as: Unretained(nil)))
        }

        @Test(arguments: ["Cohort", "ManagedObject", "ManagedObjectContext"])
        func `a reference that is used after its object has ended stops the program, and says so`(
            _ kind: String
        ) async throws {
            let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                [kind = kind as String] in
                let model = try UnretainedTests.model()
                switch kind {
                case "Cohort":
                    var cohort: Cohort? = Cohort([], cache: RowCache())
                    let reference = Unretained(cohort)
                    cohort = nil
                    _ = reference.object
                case "ManagedObject":
                    let entity = try #require(model.entity(named: "Note"))
                    var object: ManagedObject? = ManagedObject(entity: entity, insertInto: nil)
                    let reference = Unretained(object)
                    object = nil
                    _ = reference.withObject { $0.storedID }
                default:
                    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
                    var context: ManagedObjectContext? = ManagedObjectContext(coordinator)
                    let reference = Unretained(context)
                    context = nil
                    _ = reference.object
                }
            }
            let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(message.contains("a reference to a freed \(kind) is used"), "\(message)")
        }
    }
#endif
