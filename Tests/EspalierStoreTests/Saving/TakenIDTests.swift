// Insertions with the ID of a stored row, on every kind of store: no action on unique values makes them acceptable.

import EspalierModel
import EspalierStore
import TestSupport
import Testing

@Suite struct TakenIDTests {
    @Test(arguments: StoreKind.allCases, [ConstraintAction.merge, .keep])
    func `an insertion with the ID of a stored row is refused, although its unique values are that row's`(
        kind: StoreKind, action: ConstraintAction
    ) throws {
        let register = try Register(kind)
        let row = try register.insert("Party", ["name": "Ada", "note": "old"])
        var new = try register.insertion("Party", ["name": "Ada", "note": "new"])
        new.id = row
        let other = try register.insertion("Party", ["name": "Ada"])

        for insertions in [[new], [new, other], [other, new]] {
            let error = #expect(throws: StoreError.self) { try register.save(insertions, [Register.name: action]) }
            // A store that cannot tell whether another writer has inserted the row reports a conflict.
            switch error {
            case .invalidRequest, .conflict: break
            default: Issue.record("\(String(describing: error))")
            }
        }

        #expect(try register.text(of: row) == "Ada, none, old, 3")
        #expect(try register.version(of: row) == 1)
        try register.check()
    }
}
