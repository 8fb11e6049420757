(** The shipped table equals the rules, so the theorems hold for runs that look decisions up. *)
From Coq Require Import ZArith List Lia Bool.
From Augury Require Import Sums Network Rules Search Digits FordFulkerson Costs Shipped.
Open Scope Z_scope.

Theorem shipped_equals_rules : equals_rules shipped_table = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

(** The statement for maximum flows, over the tables that may decide a round. *)
Definition exact_on_flows (allowed : table -> Prop) : Prop :=
  forall net, well_formed net -> nonnegative net ->
  forall width, (forall a, (a < arcs net)%nat ->
    capacity net a + capacity net (reverse a) < 2 ^ Z.of_nat width) ->
  forall k r, FordFulkerson.run net width allowed k r ->
    legal net (flow_of net r) /\
    Z.of_nat k <= value_bound net /\
    forall t, allowed t ->
    (exists o, round net t width everything r o) /\
    forall o, round net t width everything r o ->
      match o with
      | Done side => maximum net (flow_of net r) /\ is_cut net side /\
          value net (flow_of net r) = cut_capacity net side
      | Applied p d => shortest_augmenting net everything r p /\ 0 < d /\
          value net (flow_of net (push r p d)) = value net (flow_of net r) + d
      | Wrong => False
      end.

(** The statement for least cost, from any legal flow and feasible prices. *)
Definition exact_on_costs (allowed : table -> Prop) : Prop :=
  forall net, well_formed net ->
  forall width, (forall a, (a < arcs net)%nat ->
    capacity net a + capacity net (reverse a) < 2 ^ Z.of_nat width) ->
  forall cost, (forall a, (a < arcs net)%nat -> cost (reverse a) = - cost a) ->
  forall r0 price0, legal net (flow_of net r0) -> feasible net cost r0 price0 ->
  forall most_cost spread,
    (forall a, (a < arcs net)%nat -> Z.abs (cost a) <= most_cost) -> 0 <= most_cost ->
    (forall u v, (u < nodes net)%nat -> (v < nodes net)%nat -> price0 u - price0 v <= spread) ->
  forall half, most_cost + spread + 2 * farthest net most_cost spread < half ->
    2 * half <= 2 ^ Z.of_nat width ->
  forall total k j D D' r price,
    Costs.run net allowed width cost r0 price0 half total k j D D' r price ->
    legal net (flow_of net r) /\ feasible net cost r price /\
    Z.of_nat k <= value_bound net - value net (flow_of net r0) /\
    (j < nodes net)%nat /\ (total <= k * nodes net + j)%nat /\
    forall t, allowed t ->
    (exists o, round net t width (tight net cost price) r o) /\
    forall o, round net t width (tight net cost price) r o ->
      match o with
      | Applied p d => value net (flow_of net (push r p d)) = value net (flow_of net r) + d /\ 0 < d
      | Done side =>
          match price_step net width cost half t r price side with
          | Stepped price' => feasible net cost r price'
          | Finished => maximum net (flow_of net r) /\ least_cost net cost (flow_of net r) /\
              is_cut net side /\ value net (flow_of net r) = cut_capacity net side
          | WrongStep => False
          end
      | Wrong => False
      end.

Theorem exact_if_equal_to_rules (allowed : table -> Prop) (some_table : table) :
  (forall t, allowed t -> equals_rules t = true) -> allowed some_table ->
  exact_on_flows allowed /\ exact_on_costs allowed.
Proof.
  intros E A. split.
  - intros net W N width F k r R.
    apply (ford_fulkerson_correct net W N width F allowed E k r R).
  - intros net W width F cost Sk r0 price0 L0 F0 most spread Cb C0 Sb half Hb Hf
      total k j D D' r price R.
    destruct (primal_dual_correct net W allowed E some_table A width F cost Sk r0 price0 L0 F0
      most spread Cb C0 Sb half Hb Hf total k j D D' r price R)
      as [H1 [H2 [_ [H4 [H5 [H6 H7]]]]]].
    repeat split; auto; try apply H1; apply H7; assumption.
Qed.

(** The table alone: no floating point, and no axiom. *)
Theorem shipped_table_is_exact :
  exact_on_flows (fun t => t = shipped_table) /\ exact_on_costs (fun t => t = shipped_table).
Proof.
  apply exact_if_equal_to_rules with shipped_table; [|reflexivity].
  intros t ->. apply shipped_equals_rules.
Qed.
