// Applications import Espalier only: schema types, values, predicates and requests come along.

@_exported public import EspalierModel
